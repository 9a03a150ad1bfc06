"""Names of sources, taken apart: a file with the table or query in it, or a query to a provider with its limit."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pinakes.errors import InputError

LIMIT_MARK = "?limit="
DEFAULT_LIMIT = 1_000
SELECTION = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """The parts of a source's name, as `open_rows` takes them."""

    location: str
    table: str | None = None
    query: str | None = None

    @classmethod
    def parse(cls, name: str) -> "SourceLocation":
        """Return the parts of a name such as `FOLDER`, `FILE`, `FILE#TABLE` or `FILE#SELECT …`."""
        file, part = _split(name)
        if part is None:
            return cls(location=file)
        return cls(location=file, query=part) if SELECTION.match(part) else cls(location=file, table=part)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, or was one."""
        path = Path(self.location)
        return path.is_dir() or (not path.exists() and not path.suffix)


def _split(name: str) -> tuple[str, str | None]:
    """Return the file of a source, and the table or query in it; either may have a '#' of its own."""
    if "#" not in name or Path(name).exists():
        return name, None
    for found in re.finditer("#", name):
        if Path(name[: found.start()]).is_file():
            return name[: found.start()], name[found.end() :]
    return name, None


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
        raise InputError(f"'{limit}' after {LIMIT_MARK} is not a number of results; {query}{LIMIT_MARK}500 is right")
    return ProviderQuery(query, int(limit))
