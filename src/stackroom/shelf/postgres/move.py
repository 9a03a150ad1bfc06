"""Moving a catalogue's records into a PostgreSQL database, and back, while it is served.

Both ways can be stopped at any point and run again. Commit point: `store.toml` appears in the
catalogue's folder, or goes from it; the lock of the folder is held. Servers that run follow it.
Going in, the file with the records stays as the copy that follows the database. Going back, it is
what is left, and the database keeps its tables for a day.
"""

import shutil
import socket
from contextlib import closing
from dataclasses import dataclass, field, replace

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ConflictError, ExpectedError, InputError, StorageError
from stackroom.library import KEPT_S, Installed, Library
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import SpecLibrary, open_followed, open_shelf
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.postgres.followed_store import FollowedStore
from stackroom.shelf.postgres.moving import FIRST, Advance, copy_rows, settle, verify
from stackroom.shelf.postgres.store_database import (
    LOST,
    DatabaseLostError,
    DatabaseState,
    StoreDatabase,
)
from stackroom.shelf.postgres_search.database import Connections, require_pgvector
from stackroom.shelf.store_place import (
    FORMER_FILE,
    STORE_FILE,
    StorePlace,
    find_place,
    save_place,
)
from stackroom.text.analyser import analyse_query

GOLDEN_ANSWERS = 100
TOP = 10
LEAST_EQUAL = 95
"""How many of a hundred answers must be equal: words of former edits in an index change the order
of a few, or more.
"""

ELSEWHERE = "the records are in {} already; to move them elsewhere, first move them --to here"


@dataclass(slots=True, kw_only=True)
class MoveReport:
    """The outcome of a move: where the records are, how many rows each table has, and how many
    answers were equal.
    """

    catalogue: str
    place: str
    rows: dict[str, int] = field(default_factory=dict)
    answers: int = 0
    equal_answers: int = 0


def move_to_database(
    home: SpecLibrary, name: str, place: StorePlace, *, advance: Advance
) -> MoveReport:
    """Copy the records of a catalogue into a database, verify them, and switch to it."""
    installed = home.library.get_installed(name)
    spec, folder = home.spec_of(installed).spec, installed.folder
    report = MoveReport(catalogue=name, place=place.shown)
    mark = _mark(installed)
    if (known := find_place(folder)) is None:
        _require_search(place)
    else:
        require_place(home.library, name, place)
    with closing(StoreDatabase(place.url, place.schema, catalogue=name)) as database:
        if known is not None:
            _continue(database, installed, known, place)
            return report
        _claim(database, place, installed)
        with closing(open_shelf(folder, spec)) as shelf:
            copy_rows(shelf.store, database, mark, advance)
            view = shelf.reader()  # as the next step stores it: edits go on
            # again below: the first one is what is verified, without the lock
            settle(shelf.store, database, mark)
            verify(shelf.store, database, is_settled=False)  # there may have been edits since
            report.answers, report.equal_answers = _compare_with_copy(
                shelf, view, spec, place, advance
            )
            with shelf.exclusive():
                token = settle(shelf.store, database, mark)
                report.rows = verify(shelf.store, database)
                with closing(open_followed(folder, spec, place)) as copy:
                    _as_followed(copy).mark_as_copy(FIRST, token)
                advance("switched", 0)
                # commit point: the records are in the database from here on
                save_place(folder, place)
        database.note("moved_to", "")
        if (former := find_place(folder, file=FORMER_FILE)) and former.tables == place.tables:
            save_place(folder, None, file=FORMER_FILE)  # its tables are in use again
    return report


def require_place(library: Library, name: str, place: StorePlace) -> None:
    """Refuse a catalogue whose records are elsewhere, and a database that cannot search where it is
    to.
    """
    installed = library.find_place(name)
    known = None if installed is None else find_place(installed.folder)
    if known is not None and known.tables != place.tables:
        raise InputError(ELSEWHERE.format(f"the schema '{known.schema}' of {known.shown}"))
    if installed is not None and known is None and (installed.folder / STORE_FILE).is_file():
        raise InputError(
            f"'{name}' has its records in its folder; to move them: stackroom move {name} --to …"
        )
    _require_search(place)


def _require_search(place: StorePlace) -> None:
    """Refuse a database that cannot search where it is to."""
    if place.search:
        with (
            closing(Connections(place.url, place.schema)) as connections,
            connections.writing() as db,
        ):
            require_pgvector(db)


def start_in_database(library: Library, installed: Installed, place: StorePlace) -> None:
    """Let a catalogue that is about to be built have its records in a database, so that no server
    has to hold them.
    """
    with closing(StoreDatabase(place.url, place.schema, catalogue=installed.name)) as database:
        if (known := find_place(installed.folder)) is None:
            try:
                _claim(database, place, installed)
            except ExpectedError:
                library.abandon(installed)
                raise
            # commit point: the tables are this catalogue's from here on
            save_place(installed.folder, place)
        _continue(database, installed, known or place, place)


def drop_tables(place: StorePlace) -> None:
    """Drop the tables of a first build that failed."""
    with closing(StoreDatabase(place.url, place.schema, catalogue=place.schema)) as database:
        database.drop()


def move_to_folder(home: SpecLibrary, name: str, *, advance: Advance) -> MoveReport:
    """Bring the copy in a catalogue's folder up to the database, verify it, and let the folder have
    the records.
    """
    installed = home.library.get_installed(name)
    folder, place = installed.folder, find_place(installed.folder)
    if place is None and not (folder / FORMER_FILE).is_file():
        raise InputError(f"the records of '{name}' are in its folder already")
    if place is None:  # a move that was stopped after its commit point
        return MoveReport(catalogue=name, place=str(folder))
    spec = home.spec_of(installed).spec
    with (
        closing(open_shelf(folder, spec)) as shelf,
        closing(open_followed(folder, spec, place)) as copy,
    ):
        store = _as_followed(copy)
        store.require_tables()  # there may be no copy yet: it is made without the lock
        with shelf.exclusive():
            store.require_current()
            rows = verify(store, store.database)
            # other servers go on reading, and write no more
            store.database.note("moved_to", _address(installed))
            advance("switched", 0)
            save_place(folder, place, file=FORMER_FILE)
            save_place(folder, None)  # commit point: the records are in the folder from here on
    return MoveReport(catalogue=name, place=str(folder), rows=rows)


def drop_former(home: SpecLibrary, *, now: float) -> list[str]:
    """Drop the tables of catalogues that were moved out of a database more than a day ago; return
    their names.
    """
    dropped = []
    for installed in home.library.list_installed():
        path = installed.folder / FORMER_FILE
        if not path.is_file() or now - path.stat().st_mtime < KEPT_S:
            continue
        place, present = (
            find_place(installed.folder, file=FORMER_FILE),
            find_place(installed.folder),
        )
        if place is not None and (present is None or present.tables != place.tables):
            with closing(
                StoreDatabase(place.url, place.schema, catalogue=installed.name)
            ) as database:
                if (state := database.find_state()) is None:
                    continue
                # else another catalogue was moved there since
                if state.moved_to == _address(installed):
                    database.drop()
                    dropped.append(installed.name)
        path.unlink()
    return dropped


def _address(installed: Installed) -> str:
    return f"{socket.gethostname()}:{installed.folder}"


def _mark(installed: Installed) -> str:
    """Return what the tables say while a catalogue is moved or added there."""
    return f"being moved from {_address(installed)}"


def _state_of(database: StoreDatabase, name: str) -> DatabaseState:
    if (state := database.find_state()) is None:
        raise DatabaseLostError(LOST.format(name))
    return state


def _claim(database: StoreDatabase, place: StorePlace, installed: Installed) -> None:
    """Create the tables, or continue with those of a move that was stopped; refuse those of another
    catalogue.
    """
    database.create(mark=_mark(installed))
    # its own, which it was moved out of
    if _state_of(database, installed.name).moved_to == _address(installed):
        database.drop()
        database.create(mark=_mark(installed))
    if _state_of(database, installed.name).moved_to != _mark(installed):
        raise ConflictError(
            f"the schema '{place.schema}' of {place.shown} has a catalogue already; choose another"
            " by --schema, or drop it there"
        )


def _continue(
    database: StoreDatabase, installed: Installed, known: StorePlace, place: StorePlace
) -> None:
    """Complete what was stopped after its commit point, and search there from now on if that is
    asked for.
    """
    state = _state_of(database, installed.name)
    if state.moved_to not in ("", _mark(installed)):
        raise InputError(ELSEWHERE.format(state.moved_to))
    database.note("moved_to", "")
    if place.search and not known.search:
        save_place(installed.folder, replace(known, search=place.search))


def _as_followed(store: object) -> FollowedStore:
    if not isinstance(store, FollowedStore):
        raise StorageError("the records are not in a database")
    return store


def _compare_with_copy(
    shelf: CatalogueShelf,
    view: ShelfReader,
    spec: CatalogueSpec,
    place: StorePlace,
    advance: Advance,
) -> tuple[int, int]:
    """Open the catalogue from the database as a new server does, and compare its answers with those
    here.
    """
    advance("building an index from the database", 0)
    # of one name: a move that was killed leaves it behind
    folder = shelf.folder.parent / f".{shelf.folder.name}.move"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        save_place(folder, replace(place, search=""))  # its answers are to be the same, not alike
        with closing(open_shelf(folder, spec)) as other:
            count, equal = _compare(view, other.reader())
            if equal * 100 < LEAST_EQUAL * count:
                advance("building the index here anew", 0)
                shelf.rebuild()
                count, equal = _compare(shelf.reader(), other.reader())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if equal * 100 < LEAST_EQUAL * count:
        raise StorageError(
            f"{count - equal} of {count} answers from the database differ; nothing was switched"
        )
    return count, equal


def _compare(here: ShelfReader, there: ShelfReader) -> tuple[int, int]:
    """Look for records spread over the catalogue; return how many, and for how many of them both
    find the same.
    """
    keys = here.scan(scope=WHOLE, limit=here.count(WHOLE))
    asked = keys[:: max(1, len(keys) // GOLDEN_ANSWERS)][:GOLDEN_ANSWERS]
    return len(asked), sum(_answers(here, key) == _answers(there, key) for key in asked)


def _answers(reader: ShelfReader, key: Key) -> tuple[object, ...]:
    record = reader.fetch([key], scope=WHOLE).get(key)
    query = analyse_query(reader.spec.title_of(record) if record else "", synonyms={})
    words = reader.lexical(query, scope=WHOLE, limit=TOP)
    near = reader.nearest(reader.vectors([key]), scope=WHOLE, limit=TOP) if reader.model else []
    return (
        record,
        words.total,
        [hit.key for hit in words.best],
        [hit.key for ranking in near for hit in ranking.best],
    )
