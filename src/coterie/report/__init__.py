"""The report: one page (HTML, a single file) that shows what came out, and pictures for slides beside it."""

from coterie.report._outcomes import constraint_outcomes
from coterie.report._plain import plain_labels
from coterie.report._write import write_report

__all__ = ["constraint_outcomes", "plain_labels", "write_report"]
