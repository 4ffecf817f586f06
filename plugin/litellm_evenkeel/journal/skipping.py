"""The question up to which number there are rows of each writer, put so that the primary key answers it.

Grouped by writer, a database looks at every row. This goes from one writer to the next, and looks at one row of each.
"""

from __future__ import annotations


def latest(table: str) -> str:
    """Return it as SQLite and Postgres understand it."""
    return f"""
WITH RECURSIVE known (writer) AS (
    SELECT min(writer) FROM {table}
    UNION ALL
    SELECT (SELECT min(later.writer) FROM {table} AS later WHERE later.writer > known.writer)
    FROM known WHERE known.writer IS NOT NULL
)
SELECT known.writer, (SELECT max(own.number) FROM {table} AS own WHERE own.writer = known.writer)
FROM known WHERE known.writer IS NOT NULL
"""
