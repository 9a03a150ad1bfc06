"""Damage to every kind of file of a library, 100 times each: reported, rebuilt or harmless, never
silently wrong.

    PYTHONPATH=tests .venv/bin/python -m support.damaged_kinds 100

A round copies the library, flips a bit of a file or cuts it off, and looks at it.

Each kind has files, and a look at them: what the program finds wrong, and what it reads. What
people write themselves is theirs to edit: where it still reads well it is taken as such, and
counted apart.
"""

import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Table, select

from stackroom.admin.users import USERS_TOOLS
from stackroom.assembly.app import App
from stackroom.checksums import measure_files, save_sums
from stackroom.control.control import Control
from stackroom.control.database.engine import check_database, open_local
from stackroom.control.database.tables import METADATA, Moment
from stackroom.embed.weights import SUMS, check_model_files, model_files
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.jobs.backup import check_backup, make_backup, plan_backup
from stackroom.jobs.job import JobContext
from stackroom.library import LEDGER_FILE
from stackroom.maps.making import make_map
from stackroom.maps.map_file import MAP_FILE, find_map, save_map
from stackroom.model.principal import LOCAL_USER
from stackroom.packs.build import check_pack
from stackroom.packs.update import install_release
from stackroom.settings import CONFIG_FILE, CONTROL_FILE, LOCAL_FILE, Settings, load_settings
from stackroom.shelf.store_place import STORE_FILE
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import Toolbox
from support.damaging import (
    FOUND,
    HARMLESS,
    NAME,
    UNTOUCHED,
    WRONG,
    Verdict,
    answers_of,
    build_library,
    judge,
    open_app,
)
from support.publisher import NAME as STARS
from support.publisher import make_stars, new_publisher
from support.released import bodies_of

EDITED = "read as an edit"
"""What becomes of a file of people's own that still reads well."""
NIGHT = datetime(2026, 11, 15, 3, tzinfo=UTC)
CATALOGUE = Path("catalogues") / NAME
CONFIG = (
    'offline = true\nlog_level = "WARNING"\n\n[server]\nport = 8123\nthreads = 3\nallowed_hosts ='
    ' ["a.example"]\n'
)
FIGURES = ("events",)
"""Tables of figures of use, which no checksum covers."""

Look = Callable[[Path], tuple[list[str], Any]]
"""Returns what the program finds wrong with the files of a library, and what it reads from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file: its files in a library, and how they are looked at; None: as files of a
    catalogue.
    """

    files: Callable[[Path], Iterable[Path]]
    look: Look | None = None
    is_owned: bool = False
    """Whether people write it."""


def build_home(home: Path) -> None:
    """Build a library with every kind of file."""
    build_library(home)
    with closing(open_app(home)) as app:
        made = make_map(app.open_catalogue(NAME).shelf.reader())
        assert made is not None
        save_map(made, home / CATALOGUE / MAP_FILE)
    _add_accounts(home)
    _add_model(home / "models" / "small")
    (home / CONFIG_FILE).write_text(CONFIG)
    with (
        closing(App(Settings(home=home, offline=True))) as app,
        closing(Control.open(app.settings)) as control,
    ):
        make_backup(
            plan_backup(app, control), home / "backups", at=NIGHT, keep=1, context=JobContext()
        )
    new_publisher(home / "published").publish("1.0", make_stars(20, "1.0").values())


def _add_model(folder: Path) -> None:
    """Write a folder like that of a model, with its checksums."""
    folder.mkdir(parents=True)
    chooser = random.Random(3)
    for name in model_files():
        (folder / name).write_bytes(chooser.randbytes(2_000))
    save_sums(folder / SUMS, measure_files(folder, model_files()))


def _add_accounts(home: Path) -> None:
    """Make users, roles, tokens, restrictions, jobs and their audit."""
    open_local(home).close()
    with closing(Control.open(Settings(home=home))) as control:
        office = Office(control=control, list_names=lambda: ("films", "letters"))
        gate = Gate(Toolbox(USERS_TOOLS), observers=[control.audit], office=office)

        def change(action: str, name: str, **more: Any) -> None:
            answer = gate.call(LOCAL_USER, "users.mutate", {"action": action, "name": name, **more})
            assert answer.error_code is None, answer.text

        change("create_role", "board", permissions=["AccessCatalog"], catalogues=["films"])
        for number in range(12):
            change(
                "create",
                f"user{number}",
                password=f"a ladder in orchard {number}",
                catalogues=["films"],
            )
            control.credentials.issue_token(
                LOCAL_USER, f"user{number}", name="phone", catalogues=["films"]
            )
        change("disable", "user3")
        control.access.restrict(LOCAL_USER, "letters", users=["user1"], roles=["board"])
        with control.database.begin() as connection:
            for name in ("job_runs", "job_settings"):
                table = METADATA.tables[name]
                connection.execute(
                    table.insert(), [_example_row(table, number) for number in range(8)]
                )


def _example_row(table: Table, number: int) -> dict[str, Any]:
    kinds = {
        column.name: column.type
        for column in table.c
        if not (column.primary_key and column.name == "id")
    }
    return {
        name: NIGHT
        if isinstance(kind, Moment)
        else {str: f"value {number}", bool: False}.get(kind.python_type, number)
        for name, kind in kinds.items()
    }


def in_catalogue(*patterns: str) -> Callable[[Path], Iterable[Path]]:
    """Return the files of the catalogue that match a pattern."""
    return lambda home: [path for pattern in patterns for path in (home / CATALOGUE).glob(pattern)]


def look_at_map(home: Path) -> tuple[list[str], Any]:
    """Read the map."""
    found = find_map(home / CATALOGUE / MAP_FILE)
    assert found is not None
    words = (list(found.words.values), found.words.indexes.tolist(), found.words.keys.tolist())
    return [], (found.model, found.keys.tolist(), found.places.tolist(), words)


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder of which each byte is checked."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def look_at_model(home: Path) -> tuple[list[str], Any]:
    """Compare the files of models with what was written."""
    return check_model_files(home / "models"), contents_of(home / "models")


def look_at_accounts(home: Path) -> tuple[list[str], Any]:
    """Check the control database and its audit, and read every row."""
    with closing(Control.open(Settings(home=home))) as control:
        if problems := check_database(control.database):
            return problems, None
        told = control.audit.verify().first_problem
        return [told] if told else [], (
            _rows(control.database),
            control.accounts.list_users(),
            control.accounts.list_roles(),
        )


def look_at_local(home: Path) -> tuple[list[str], Any]:
    """Check the database of the local user."""
    with closing(open_local(home)) as database:
        problems = check_database(database)
        rows = {} if problems else _rows(database)
        # it has none
        return problems, {name: row for name, row in rows.items() if not name.startswith("audit")}


def _rows(database: Any) -> dict[str, list[str]]:
    tables = {name: table for name, table in METADATA.tables.items() if name not in FIGURES}
    with database.read() as connection:
        return {
            name: sorted(map(repr, connection.execute(select(table))))
            for name, table in tables.items()
        }


def look_at_settings(home: Path) -> tuple[list[str], Any]:
    """Load the settings."""
    return [], load_settings({"STACKROOM_HOME": str(home)}).model_dump()


def look_at_backup(home: Path) -> tuple[list[str], Any]:
    """Compare a back-up with its manifest."""
    (backup,) = (home / "backups").iterdir()
    return check_backup(backup), contents_of(backup)


def look_at_pack(home: Path) -> tuple[list[str], Any]:
    """Check a pack that is to be published."""
    (pack,) = (home / "published" / "packs").iterdir()
    return [str(problem) for problem in check_pack(pack)], contents_of(pack)


def look_at_release(home: Path) -> tuple[list[str], Any]:
    """Install the release into an empty library."""
    with (
        tempfile.TemporaryDirectory(prefix="damage-") as fresh,
        closing(open_app(Path(fresh))) as app,
    ):
        install_release(app, STARS, str(home / "published" / "place"))
        return [], bodies_of(app)


KINDS = {
    "records": Kind(files=in_catalogue(STORE_FILE)),
    "ledger": Kind(files=in_catalogue(LEDGER_FILE)),
    "spec and marker": Kind(files=in_catalogue("*.toml", "*.json")),
    "index: arrays": Kind(files=in_catalogue("index/**/*.npy")),
    "index: words": Kind(files=in_catalogue("index/*/text/*", "index/*/*/text/*")),
    "index: other files": Kind(
        files=lambda home: [
            path
            for path in (home / CATALOGUE / "index").rglob("*")
            if path.suffix != ".npy" and "text" not in path.parts[-2:-1]
        ]
    ),
    "map": Kind(files=in_catalogue(MAP_FILE), look=look_at_map),
    "model": Kind(files=lambda home: (home / "models").rglob("*"), look=look_at_model),
    "accounts, audit, jobs": Kind(files=lambda home: [home / CONTROL_FILE], look=look_at_accounts),
    "local user": Kind(files=lambda home: [home / LOCAL_FILE], look=look_at_local),
    "back-up": Kind(files=lambda home: (home / "backups").rglob("*"), look=look_at_backup),
    "pack": Kind(files=lambda home: (home / "published" / "packs").rglob("*"), look=look_at_pack),
    "release": Kind(
        files=lambda home: (home / "published" / "place").rglob("*"), look=look_at_release
    ),
    "settings": Kind(files=lambda home: [home / CONFIG_FILE], look=look_at_settings, is_owned=True),
}


def damage(path: Path, chooser: random.Random) -> str:
    """Cut a file off, or flip a bit of a byte that is not zero, as those of unused pages are."""
    content = bytearray(path.read_bytes())
    if chooser.random() < 0.25:
        length = chooser.randrange(len(content))
        path.write_bytes(content[:length])
        return f"{path.name}: cut off after {length} of {len(content)} bytes"
    place = chooser.choice([number for number, byte in enumerate(content) if byte])
    bit = chooser.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.name}: bit {bit} of byte {place}"


def judge_look(kind: Kind, home: Path, right: Any, done_to: str) -> Verdict:
    """Look at damaged files, and compare what is read with what is right."""
    assert kind.look is not None
    try:
        problems, content = kind.look(home)
    except ExpectedError as error:
        return Verdict(outcome=FOUND, damage=done_to, detail=error.full_message)
    except Exception as error:  # a bug
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(
            outcome=WRONG, damage=done_to, detail=f"{error!r} at {where.filename}:{where.lineno}"
        )
    if problems:
        return Verdict(outcome=FOUND, damage=done_to, detail="; ".join(problems))
    outcome = HARMLESS if content == right else EDITED if kind.is_owned else WRONG
    return Verdict(
        outcome=outcome, damage=done_to, detail="read as something else" if outcome == WRONG else ""
    )


def run_rounds(name: str, rounds: int, *, seed: int, home: Path) -> list[Verdict]:
    """Damage a file of a kind, as often as asked for, each in a copy of the library."""
    kind, verdicts = KINDS[name], []
    if kind.look is None:
        with closing(open_app(home)) as app:
            right: Any = answers_of(app)
    else:
        problems, right = kind.look(home)
        assert not problems, problems
    for number in range(rounds):
        chooser = random.Random(f"{seed}-{name}-{number}")
        with tempfile.TemporaryDirectory(prefix="damage-") as scratch:
            copy = Path(shutil.copytree(home, Path(scratch) / "home"))
            present = (
                path for path in sorted(kind.files(copy)) if path.is_file() and path.stat().st_size
            )
            files = [path for path in present if not path.name.endswith(UNTOUCHED)]
            weights = [path.stat().st_size if number % 2 else 1 for path in files]
            done_to = damage(chooser.choices(files, weights)[0], chooser)
            verdicts.append(
                judge(copy, right, done_to)
                if kind.look is None
                else judge_look(kind, copy, right, done_to)
            )
    return verdicts


def main(rounds: int) -> int:
    """Damage files of every kind, print what became of them, and return 1 if any was wrong."""
    wrong: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="damage-") as folder:
        home = Path(folder) / "home"
        build_home(home)
        for name in KINDS:
            verdicts = run_rounds(name, rounds, seed=1, home=home)
            print(f"{name}: {dict(Counter(one.outcome for one in verdicts))}", flush=True)
            wrong += [one for one in verdicts if one.outcome == WRONG]
    for one in wrong:
        print(f"WRONG {one.damage}: {one.detail}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
