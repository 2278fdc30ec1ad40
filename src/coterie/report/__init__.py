"""The report: one page (HTML, a single file) that shows what came out; pictures for slides where wanted."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.report._facts.outcomes import constraint_outcomes
    from coterie.report._facts.without import plain_labels
    from coterie.report._write import write_report

__all__, __getattr__, __dir__ = attach(__name__)
