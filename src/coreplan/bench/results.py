"""Results of benchmark runs: rows from a store, or from a table of them."""

from __future__ import annotations

from pathlib import Path

from coreplan.bench.store import Row, Store
from coreplan.bench.table import in_order, is_table, read_table


def read_rows(path: str | Path) -> list[Row]:
    """All rows of a store or of a table, sorted by set, instance and solver.

    Parameters
    ----------
    path
        A table if its name ends in ``.csv`` or ``.csv.gz``, otherwise a store.

    Raises
    ------
    FormatError
        If the file is neither, is damaged, or is of a newer version.
    """
    if is_table(path):
        return read_table(path)
    with Store(path) as store:
        return in_order(store.rows())
