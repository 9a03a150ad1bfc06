"""Names of sources, taken apart: a location with the options of reading it, or a query to a
provider with its limit.

A name is `LOCATION`, `LOCATION#TABLE`, `LOCATION#SELECT …` or
`LOCATION#TABLE?skip=1&header_rows=2`, where TABLE may be empty. A location is a file, a folder, or
an address (`https://…`). A name is enough to read its source again.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.sources.compressed import find_path, without_compression

GRIDS = "CSV files and spreadsheets"
MEANT_FOR = {
    "table": "SQLite files and spreadsheets",
    "query": "SQLite files",
    "skip": GRIDS,
    "header_rows": GRIDS,
    "encoding": "CSV and JSON files",
    "records": "JSON files",
    **dict.fromkeys(("join", "pairs"), "files of tables"),
}
MOST_LINES = 1_000  # the most lines that can be skipped, or be a header


@frozen
class ReadOptions:
    """Options of reading a source, as a user gives them; None leaves the choice to the reader."""

    table: str | None = None  # the table of a database, or the sheet of a spreadsheet
    query: str | None = None  # a SELECT statement whose result is the table
    skip: int | None = None  # the number of lines above the header
    header_rows: int | None = None  # the number of lines that the header has; 0 where there is none
    encoding: str | None = None  # the encoding of the text, such as `cp1251`
    # the path of the list of records in a JSON document, such as `data.items`
    records: str | None = None
    # the files whose tables belong to this one, and are joined to it
    join: tuple[str, ...] | None = None
    pairs: bool | None = None
    """False: each row of a table of attributes is a record; else each thing that they describe."""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that are given."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)

    def over(self, other: "ReadOptions") -> "ReadOptions":
        """Return these options, completed with those of another that are not given here."""
        return replace(other, **{name: getattr(self, name) for name in self.given})

    def require_only(self, allowed: Collection[str], *, location: str) -> None:
        """Refuse an option that means nothing for a source, and a number of lines that is out of
        range.
        """
        for name in self.given:
            if name not in allowed:
                raise InputError(f"{location}: {flag(name)} is for {MEANT_FOR[name]} only")
        for name in ("skip", "header_rows"):
            lines = getattr(self, name)
            if lines is not None and not 0 <= lines <= MOST_LINES:
                raise InputError(
                    f"{location}: {flag(name)} is {lines}; a number of lines from 0 to"
                    f" {MOST_LINES:,} is right"
                )


def flag(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


NO_OPTIONS = ReadOptions()


# the beginning of the name of a LanceDB table, which is synced and never added
TABLE_PREFIX = "lancedb:"
LIMIT_MARK = "?limit="
DEFAULT_LIMIT = 1_000
SELECTION = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# the options that choose a table; the others say how it is laid out
CHOICES = ("table", "query", "records")
SIGNS = "-_. "
SETTINGS = re.compile(
    r"\?((?:(?:skip|header_rows)=\d{1,9}|pairs=False|(?:encoding|records|join)=[^&?#]*)(?:&(?!$)|$))+\Z"
)
"""The options at the end of a name, beside the table."""


READ_SETTING: Mapping[str, Callable[[str], Any]] = {
    "skip": int,
    "header_rows": int,
    "pairs": lambda _false: False,
    "join": lambda files: tuple(map(unquote, files.split("|"))),
}


@frozen
class SourceLocation:
    """The parts of a source's name, as `open_source` takes them."""

    location: str
    options: ReadOptions = NO_OPTIONS

    @classmethod
    def parse(cls, name: str) -> "SourceLocation":
        """Return the parts of a name such as `FOLDER`, `FILE`, `FILE#TABLE` or `FILE#SELECT …`."""
        location, part = _split(name)
        if SELECTION.match(part):
            return cls(location=location, options=ReadOptions(query=part))
        settings = SETTINGS.search(part)
        pairs = (
            [setting.partition("=") for setting in settings[0][1:].split("&")] if settings else []
        )
        stated: dict[str, Any] = {
            name: READ_SETTING.get(name, str)(unquote(value)) for name, _, value in pairs
        }
        table = part[: settings.start()] if settings else part
        return cls(location=location, options=ReadOptions(table=table or None, **stated))

    @property
    def name(self) -> str:
        """The name that is read as this location with these options."""
        options = self.options
        stated = {
            name: getattr(options, name)
            for name in ("skip", "header_rows", "encoding", "records", "pairs")
        }
        stated["join"] = "|".join(map(quote, options.join)) if options.join else None
        given = [
            f"{name}={quote(str(value), safe='.[]/')}"
            for name, value in stated.items()
            if value is not None
        ]
        part = f"{options.query or options.table or ''}{'?' if given else ''}{'&'.join(given)}"
        return f"{self.location}#{part}" if part else self.location

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, or was one."""
        path = Path(self.location)
        return not is_address(self.location) and (
            path.is_dir() or (not path.exists() and not path.suffix)
        )


def stem_of(location: str) -> str:
    """Return the name of a location's file or folder without suffixes."""
    path = Path(location.partition("?")[0] if is_address(location) else location.rstrip("/"))
    return without_compression(
        path if path.stem.strip(".") else path.absolute().resolve()
    ).stem.strip(SIGNS)


def is_address(location: str) -> bool:
    """Return whether a location is an address such as `https://…`."""
    return ADDRESS.match(location) is not None


@lru_cache(maxsize=256)
def shown_name(name: str) -> str:
    """Return the name of a source's file for people: no folders, options or query.

    The disk is not looked at, so that it is quick and right for files that are gone.
    """
    bare = without_settings(name)
    if is_address(bare):
        return PurePath(re.split(r"[?#]", bare, maxsplit=1)[0]).name
    file, mark, _ = bare.partition("#")
    shown = PurePath(
        file if mark and PurePath(file).suffix and SELECTION.match(bare[len(file) + 1 :]) else bare
    ).name
    return shown if PurePath(shown).suffix else ""


def is_same_location(one: str, other: str) -> bool:
    """Return whether two locations lead to the same file or address."""
    whole = [
        place if is_address(place) else str(Path(place).expanduser().resolve())
        for place in (one, other)
    ]
    return whole[0] == whole[1]


def is_same_table(one: str, other: str) -> bool:
    """Return whether two names are of the same table, read with other options of its layout, or the
    same.
    """
    first, second = SourceLocation.parse(one), SourceLocation.parse(other)
    is_chosen_alike = all(
        getattr(first.options, name) == getattr(second.options, name) for name in CHOICES
    )
    return is_chosen_alike and is_same_location(first.location, second.location)


def without_settings(name: str) -> str:
    """Return a name without the options that say how a file is laid out; the table stays."""
    settings = SETTINGS.search(name)
    return (
        name[: settings.start()].removesuffix("#")
        if settings and "#" in name[: settings.start()]
        else name
    )


def _split(name: str) -> tuple[str, str]:
    """Return the location of a source, and the table, query and options in it; either may have a
    '#' of its own.
    """
    if "#" not in name or find_path(name):
        return name, ""
    for found in re.finditer("#", name):
        location = name[: found.start()]
        if is_address(location) or find_path(location):
            return location, name[found.end() :]
    return name, ""


class ProviderQuery(NamedTuple):
    """A query to a provider on the network, and how many results are wanted."""

    query: str
    limit: int


def read_provider_query(text: str) -> ProviderQuery:
    """Return the parts of `QUERY?limit=500`; without a limit, a thousand results are wanted."""
    query, mark, limit = text.rpartition(LIMIT_MARK)
    if not mark:
        return ProviderQuery(text, DEFAULT_LIMIT)
    if not limit.isdecimal() or len(limit) > 9:
        raise InputError(
            f"'{limit}' after {LIMIT_MARK} is not a number of results; {query}{LIMIT_MARK}500 is"
            " right"
        )
    return ProviderQuery(query, int(limit))
