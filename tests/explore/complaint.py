"""What a failed check says."""

from __future__ import annotations


class Complaint(Exception):  # noqa: N818 - a finding of the campaign, not an error of it
    """A check that failed.

    Attributes
    ----------
    check
        Name of the check; shrinking keeps to failures of the same check.
    words
        What was found and what was expected.
    """

    def __init__(self, check: str, words: str) -> None:
        self.check = check
        self.words = words
        super().__init__(f"{check}: {words}")


def demand(holds: bool, check: str, words: str) -> None:
    """Raise a complaint unless a claim holds."""
    if not holds:
        raise Complaint(check, words)
