"""One more rule for import-linter: between packages one imports from an `__init__`, never past it."""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, output


class ThroughTheInit(Contract):
    """A package names in its `__init__`, or in that of a sub-package, what other packages may import."""

    type_name = "through_the_init"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Look for imports of a module, which is no package, by a module of another package."""
        found = [
            f"{importer} imports {module}, which {module.rsplit('.', 1)[0]} does not offer"
            for module in sorted(graph.modules)
            if module.count(".") >= 2 and module.startswith("coterie.") and not graph.find_children(module)
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if importer.split(".")[:2] != module.split(".")[:2]
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import that goes too deep."""
        for line in check.metadata["found"]:
            output.print_error(line, bold=False)
