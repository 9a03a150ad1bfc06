"""Names of sources that are files or folders, taken apart: the file, and the table or query of an SQLite file."""

import re
from dataclasses import dataclass
from pathlib import Path

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
