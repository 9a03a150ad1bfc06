"""Many rows in one statement.

SQLite lets the program's other threads in at each statement, and in a busy server waiting for one's turn again costs
more than a row does.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection

ROWS_A_STATEMENT = 100


def insert_rows(connection: Connection, columns: Sequence[Column[Any]], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows, each the values of these columns of one table, as the database takes them."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    row_marks = f"({', '.join([mark] * len(columns))})"
    into = f"INSERT INTO {columns[0].table.name} ({', '.join(column.name for column in columns)}) VALUES "
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        values = tuple(value for row in some for value in row)
        connection.exec_driver_sql(into + ", ".join([row_marks] * len(some)), values)
