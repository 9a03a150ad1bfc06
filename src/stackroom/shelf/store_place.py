"""The place of a catalogue's records: SQLite in its folder, or the PostgreSQL database that
`store.toml` names.

With the line `search = "postgresql"`, its index is in that database too, and the servers' folders
contain neither.

The file may contain a password: only its owner can read it, and messages show the address without
it.
"""

import dataclasses
import json
import os
import re
import tomllib
from pathlib import Path

from stackroom.errors import InputError, StorageError
from stackroom.library import PLACE_FILE, remove_file, replace_file

STORE_FILE = "records.sqlite"
# names the database that the records were in before they were moved out of it
FORMER_FILE = "store.former.toml"
IN_DATABASE = "postgresql"  # the word for an index that is in the database
SCHEME = re.compile(r"postgres(ql)?(\+psycopg)?://")
SECRET = re.compile(r"(?<=//)([^/@]*)@|([?&](?:ssl)?password=)[^&]*")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """The address of a database, and the schema of a catalogue in it."""

    url: str
    schema: str
    # where the index is: in the database, or where nothing is said in the folder of each server
    search: str = ""
    parts: int = 0
    """The number of partitions of an index in the database at its next build; 0 chooses by the
    number of records.
    """

    def __post_init__(self) -> None:
        if not SCHEME.match(self.url):
            raise InputError("the address of a store begins with postgresql://")
        if self.search not in ("", IN_DATABASE):
            raise InputError(f"'search' is '{self.search}'; it can be '{IN_DATABASE}', or left out")
        if self.parts < 0:
            raise InputError(f"'parts' is {self.parts}; it can be 1 or more, or left out")

    @property
    def tables(self) -> tuple[str, str]:
        """The database and the schema, apart from how it is searched."""
        return self.url, self.schema

    @property
    def shown(self) -> str:
        """The address without the password."""
        return SECRET.sub(
            lambda one: f"{one[2]}***" if one[2] else f"{(one[1] or '').split(':')[0]}@", self.url
        )

    def __repr__(self) -> str:
        return f"StorePlace({self.shown}, {self.schema})"


def find_place(folder: Path, *, file: str = PLACE_FILE) -> StorePlace | None:
    """Return the database of a catalogue's records, or None if they are in its folder."""
    path = folder / file
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        return StorePlace(
            url=str(told["url"]),
            schema=str(told["schema"]),
            search=str(told.get("search", "")),
            parts=int(told.get("parts", 0)),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, InputError) as error:
        raise StorageError(
            f'{folder.name}/{file} is damaged; it has two lines: url = "…", schema = "…"'
        ) from error


def save_place(folder: Path, place: StorePlace | None, *, file: str = PLACE_FILE) -> None:
    """Write the place of a catalogue's records; None means its folder."""
    path = folder / file
    if place is None:
        remove_file(path)
        return
    before = os.umask(0o077)
    try:
        lines = [
            f"{one.name} = {json.dumps(value, ensure_ascii=False)}\n"
            for one in dataclasses.fields(place)
            if (value := getattr(place, one.name)) != one.default
        ]
        replace_file(path, "".join(lines).encode())
    finally:
        os.umask(before)


def has_records_file(folder: Path) -> bool:
    """Tell whether the folder of a catalogue has its records, or a copy of them that follows a
    database.
    """
    place = find_place(folder)
    return place is None or not place.search
