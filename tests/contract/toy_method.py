"""The file of a new method: what it does, and what it says of itself; `test_toy_method` adds its name."""

from dataclasses import replace

from coterie.base import About, Section
from tests.contract.toy import ToyHard


class ToyMethod(ToyHard):
    """ToyHard, with what a method says of itself."""

    about = About(what="toys with clusters", when="nothing else is at hand", source="the toy shop")

    def account(self):
        """With a section of its own."""
        told = Section("toys", "Toys", f"{len(self.history_)} toys were moved.")
        return replace(super().account(), sections=(told,), remarks=("The toys are tidied away.",))
