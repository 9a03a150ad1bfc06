"""The options of commands that read a table: which table of a source, and how its header is laid out."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from stackroom.sources.location import ReadOptions

OPTIONS = (
    click.option("--table", help="The table of an SQLite file; by default its main one."),
    click.option("--query", help="A SELECT statement for the rows of an SQLite file."),
    click.option("--sheet", help="The sheet of a spreadsheet; by default its main one."),
    click.option("--skip", type=int, metavar="LINES", help="The number of lines above the header."),
    click.option("--header-rows", type=int, metavar="LINES", help="The number of lines of the header; 0 for none."),
    click.option("--records", metavar="PATH", help="The list of records in a JSON file, such as data.items."),
)


def read_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which takes them as `options`."""

    @wraps(command)
    def with_options(
        *arguments: Any,
        table: str | None,
        query: str | None,
        sheet: str | None,
        skip: int | None,
        header_rows: int | None,
        records: str | None,
        **others: Any,
    ) -> Any:
        options = ReadOptions(
            table=table,
            query=query,
            sheet=sheet,
            skip=skip,
            header_rows=header_rows,
            records=records,
        )
        return command(*arguments, options=options, **others)

    for option in reversed(OPTIONS):
        with_options = option(with_options)
    return with_options
