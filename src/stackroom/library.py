"""The library: the catalogues installed on this machine, one folder each.

CATALOGUES/NAME/building.json    being built for the first time: not served, and resumed by building
again CATALOGUES/NAME/installed.json   complete; has the spec or package it follows, and its sources
CATALOGUES/NAME/catalogue.toml   the spec itself, where it is the user's own and not a package's
CATALOGUES/NAME/ledger.sqlite    which row of which source each record came from
CATALOGUES/NAME/store.toml       the database that its records are in, where they are in one
CATALOGUES/NAME/calibration.json how relevant a cosine similarity is in this catalogue
CATALOGUES/NAME/map.bin          where its records lie on the map CATALOGUES/NAME/pack/
the release that it was installed from, if it was, and the one before CATALOGUES/NAME/golden.jsonl
the questions that it was graded by; golden.toml has the user's own CATALOGUES/NAME/grade.json
its last grade CATALOGUES/NAME/tuned.json       the weights that were tuned for it
CATALOGUES/.removed/NAME@TIME    a catalogue that was removed, kept for a day; or a file with the
name that it has now
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import orjson

from stackroom.checksums import dump_checked, load_checked, sum_of, sync_file, sync_folder
from stackroom.errors import ConflictError, InputError, NotFoundError, StorageError, did_you_mean
from stackroom.frozen import frozen

INSTALLED_FILE = "installed.json"
BUILDING_FILE = "building.json"
DECLARATION_FILE = "catalogue.toml"
LEDGER_FILE = "ledger.sqlite"
PLACE_FILE = "store.toml"
CALIBRATION_FILE = "calibration.json"
QUESTIONS_FILE = "golden.jsonl"
PACK_FOLDER = "pack"
TABLES_FOLDER = "tables"  # has the uploaded tables; beside the folder of the catalogues
NEXT_SPEC_FILE = "next.toml"
"""In that folder: the spec of a release that is being installed, where it is another than the
present one.
"""
HALF_WRITTEN = ".new"
UNFINISHED = (
    "unfinished: its build is running or was stopped; to continue, run the same stackroom {} again"
)
OWN_WORDS = ("title", "summary", "editable")
"""The members of a marker that the owner chose in place of what the spec says."""
MEMBERS = ("spec", "shelf", "sources", "model", "declaration", *OWN_WORDS)
"""The members of a marker; `shelf` is in those of earlier libraries."""
REMOVED_FOLDER = ".removed"
KEPT_S = 86_400.0  # how long a removed catalogue is kept
LOOK_AGAIN_S = 1.0  # how long a file that says little is taken for unchanged
T = TypeVar("T")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@frozen
class Installed:
    """A catalogue of the library: its name, its spec or package, its folder and its sources."""

    name: str
    spec_name: str
    folder: Path
    sources: tuple[str, ...] = ()
    model: str = ""  # the name of the embedding model that was chosen for it; empty where none was
    title: str = ""
    summary: str = ""
    editable: bool | None = None
    """What its owner chose in place of the title, summary and editability of its spec; empty or
    None: nothing.
    """

    @property
    def is_complete(self) -> bool:
        """Whether its first build has finished."""
        return (self.folder / INSTALLED_FILE).is_file()

    @property
    def own_declaration(self) -> Path | None:
        """The file with its spec; None where it follows a package."""
        path = self.folder / DECLARATION_FILE
        return path if path.is_file() else None


class FileWatch(Generic[T]):
    """The content of a small file, read again after it was replaced.

    It is not looked at for each call: once in a while, and after this process replaced or removed a
    file.
    """

    written_here: ClassVar[int] = 0
    """How many files this process replaced or removed."""

    def __init__(self, path: Path, read: Callable[[], T]) -> None:
        """`read` returns what the file says, also where there is none."""
        self._path, self._read = path, read
        self._stamp, self._known = _stamp_of(path), read()
        self._looked_at, self._written = time.monotonic(), FileWatch.written_here

    def find(self) -> T:
        """Return what the file said when it was last looked at."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_AGAIN_S or self._written != FileWatch.written_here:
            self._looked_at, self._written = now, FileWatch.written_here
            stamp = _stamp_of(self._path)
            if stamp != self._stamp:
                self._stamp, self._known = stamp, self._read()
        return self._known


class Library:
    """The folder that contains every catalogue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_installed(self) -> list[Installed]:
        """Return the complete catalogues, sorted by name; `check` reports those whose marker is
        damaged.
        """
        return list(_iter_whole(self._markers(INSTALLED_FILE).values()))

    def stamps(self) -> dict[str, Hashable]:
        """Return a token of each complete catalogue that differs when it was described anew or
        moved; cheap to read.
        """
        files = (INSTALLED_FILE, DECLARATION_FILE, PLACE_FILE)
        found = {
            name: tuple(_stamp_of(f"{self.folder}/{name}/{one}") for one in files)
            for name in self._list_names()
        }
        return {name: stamps for name, stamps in found.items() if stamps[0]}

    def list_unfinished(self) -> list[str]:
        """Return the names of the catalogues whose first build has not finished."""
        return sorted(self._markers(BUILDING_FILE).keys() - self._markers(INSTALLED_FILE).keys())

    def describe_unfinished(self) -> dict[str, str]:
        """Return the catalogues whose first build has not finished: name → how to continue."""
        return {
            one: UNFINISHED.format("init" if (self.folder / one / PACK_FOLDER).is_dir() else "add")
            for one in self.list_unfinished()
        }

    def check(self) -> dict[str, str]:
        """Return the catalogues whose marker is damaged or lost: name → what is wrong and what to
        do.
        """
        if not self.folder.is_dir():
            return {}
        problems = {}
        for folder in sorted(
            path for path in self.folder.iterdir() if path.is_dir() and NAME.fullmatch(path.name)
        ):
            try:
                if (marker := _find_marker(folder)) is not None:
                    _read(marker)
                else:
                    _require_disposable(folder)
            except StorageError as error:
                problems[folder.name] = error.message
        return problems

    def find_installed(self, name: str) -> Installed | None:
        """Return a catalogue, or None; raise StorageError where its marker is damaged."""
        marker = self._markers(INSTALLED_FILE).get(name)
        return _read(marker) if marker else None

    def find_place(self, name: str) -> Installed | None:
        """Return a catalogue, complete or not, or None; raise StorageError where its marker is
        damaged.
        """
        marker = _find_marker(self.folder / name)
        return _read(marker) if marker else None

    def get_installed(self, name: str) -> Installed:
        """Return a catalogue; raise where it is unfinished, damaged or unknown, with the installed
        names.
        """
        if (installed := self.find_installed(name)) is not None:
            return installed
        if (unfinished := self.describe_unfinished().get(name)) is not None:
            raise NotFoundError(f"catalogue '{name}' is {unfinished}")
        if (problem := self.check().get(name)) is not None:
            raise StorageError(problem)
        known = [one.name for one in self.list_installed()]
        names = ", ".join(known) or "none; run: stackroom init"
        raise NotFoundError(f"no catalogue '{name}'{did_you_mean(name, known)}; installed: {names}")

    def _markers(self, file: str) -> dict[str, Path]:
        markers = {name: self.folder / name / file for name in self._list_names()}
        return {name: marker for name, marker in markers.items() if marker.exists()}

    def _list_names(self) -> list[str]:
        """Return the names of the folders in the library, also of those that are no catalogue."""
        names = os.listdir(self.folder) if self.folder.is_dir() else ()
        return sorted(name for name in names if not name.startswith("."))

    def reserve(
        self,
        name: str,
        spec_name: str,
        *,
        declaration: str | None = None,
        is_package_name: bool = True,
    ) -> Installed:
        """Return the folder to build a catalogue in; refuse a name that a catalogue of another spec
        has.

        A spec of the user's own is written beside the catalogue and replaces an earlier or lost
        one. A catalogue without such a file, whose spec is not the name of a package, has lost it.
        """
        require_name(name)
        known = self.find_place(name)
        if known is None and (self.folder / name).is_dir():
            _require_disposable(self.folder / name)
            # left by a build that was stopped before its marker was written
            shutil.rmtree(self.folder / name)
        place = known or Installed(name=name, spec_name=spec_name, folder=self.folder / name)
        is_new = not place.folder.is_dir()
        was_own = place.own_declaration is not None or not is_package_name
        if not is_new and (place.spec_name != spec_name or was_own is (declaration is None)):
            problem = (
                f"'{name}' is a catalogue of '{place.spec_name}', not of '{spec_name}'; choose"
                " another --name"
            )
            raise InputError(problem)
        try:
            if is_new:
                self._make(place, declaration)
            elif declaration is not None:
                _write_declaration(place.folder, declaration)
        except OSError as error:
            problem = (
                f"cannot be written: {error.strerror}; STACKROOM_HOME says where the library is"
            )
            raise StorageError(f"{place.folder}: {problem}") from error
        return place

    def _make(self, place: Installed, declaration: str | None) -> None:
        """Make the folder of a new catalogue in one step: other processes see it with its marker,
        or not at all.
        """
        fresh = self.folder / f".{place.name}.{secrets.token_hex(4)}{HALF_WRITTEN}"
        try:
            fresh.mkdir(parents=True)
            if declaration is not None:
                replace_file(fresh / DECLARATION_FILE, declaration.encode())
            _write(fresh / BUILDING_FILE, place)
            os.rename(fresh, place.folder)  # commit point: the name is taken from here on
        except OSError as error:
            if place.folder.is_dir():
                problem = (
                    f"'name': there is a catalogue '{place.name}' already; choose another name"
                )
                raise ConflictError(problem) from error
            raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def complete(self, catalogue: Installed, *, source: str | None) -> None:
        """Make a built catalogue visible, and note its source; one that was installed from a
        release has none.
        """
        sources = dict.fromkeys([*catalogue.sources, *([] if source is None else [source])])
        known = replace(catalogue, sources=tuple(sources))
        is_same = catalogue.is_complete and known == _read(catalogue.folder / INSTALLED_FILE)
        if is_same and find_changed_file(catalogue.folder) is None:
            return
        # commit point: it is installed from here on
        _write(catalogue.folder / INSTALLED_FILE, known)
        (catalogue.folder / BUILDING_FILE).unlink(missing_ok=True)

    def put_back_declaration(self, catalogue: Installed, declaration: str) -> None:
        """Write the former spec of a catalogue that has its own."""
        if catalogue.own_declaration is not None:
            _write_declaration(catalogue.folder, declaration)

    def describe(self, catalogue: Installed) -> None:
        """Write the marker of a catalogue whose title, summary or editability its owner changed."""
        _write(catalogue.folder / INSTALLED_FILE, catalogue)

    def set_aside(self, name: str, *, now: float) -> None:
        """Remove a catalogue: it is kept for a day, for `put_back`, and not served."""
        with self._moving(name):
            # commit point: it is not installed
            os.rename(self.folder / name, self._removed_place(name, now))

    def rename(self, name: str, new: str, *, now: float) -> None:
        """Give a catalogue another name; the former one is noted for a day."""
        require_name(new)
        self.require_free(new)
        with self._moving(name):
            replace_file(self._removed_place(name, now), new.encode())
            os.rename(self.folder / name, self.folder / new)  # commit point: it has the new name

    def put_back(self, name: str) -> None:
        """Bring back a removed catalogue as it was."""
        self.require_free(name)
        removed = self.find_removed(name)
        if removed is None or removed.is_file():
            names = ", ".join(
                sorted(
                    {path.name.rpartition("@")[0] for path in self._iter_removed() if path.is_dir()}
                )
            )
            known = f"there are: {names}" if names else "none was"
            raise NotFoundError(f"no catalogue '{name[:80]}' was removed within a day; {known}")
        with self._moving(name):
            os.rename(removed, self.folder / name)  # commit point: it is installed again

    def find_removed(self, name: str) -> Path | None:
        """Return where a removed catalogue is kept, or the file with its new name where it was
        renamed; the newest.
        """
        return max(self._iter_removed(name), key=_moment_of, default=None)

    def was_removed(self, name: str, *, since: float) -> bool:
        """Tell whether a catalogue was removed or renamed since a moment, and has not just
        vanished.
        """
        return any(_moment_of(path) >= since for path in self._iter_removed(name))

    def list_removed(self) -> list[Installed]:
        """Return the removed catalogues that are kept; a folder's name has the moment of its
        removal.
        """
        return list(_iter_whole(filter(None, map(_find_marker, self._iter_removed()))))

    def purge(self, *, now: float) -> None:
        """Delete what was removed more than a day ago."""
        for path in self._iter_removed():
            if now - _moment_of(path) >= KEPT_S:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(
                    missing_ok=True
                )

    def _iter_removed(self, name: str = "") -> Iterator[Path]:
        folder = self.folder / REMOVED_FOLDER
        for path in folder.iterdir() if folder.is_dir() else ():
            of, _, moment = path.name.rpartition("@")
            if moment.isdecimal() and name in ("", of):
                yield path

    def _removed_place(self, name: str, now: float) -> Path:
        (self.folder / REMOVED_FOLDER).mkdir(exist_ok=True)
        return self.folder / REMOVED_FOLDER / f"{name}@{int(now * 1_000_000)}"

    def require_free(self, name: str) -> None:
        """Refuse a name that a catalogue has."""
        if (self.folder / name).exists():
            raise ConflictError(
                f"there is a catalogue '{name}' already; choose another name, or rename that one"
                " first"
            )

    @contextmanager
    def _moving(self, name: str) -> Iterator[None]:
        """Turn the errors of a move into StorageError."""
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{self.folder / name}: cannot be moved: {error.strerror or error}"
            ) from error
        FileWatch.written_here += 1

    def abandon(self, catalogue: Installed) -> None:
        """Delete a first build that failed; the marker is deleted last."""
        marker = catalogue.folder / BUILDING_FILE
        if not marker.is_file():
            return
        for path in catalogue.folder.iterdir():
            if path != marker:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(catalogue.folder)


def _moment_of(removed: Path) -> float:
    """Return when a catalogue was removed or renamed, in seconds since 1970."""
    return int(removed.name.rpartition("@")[2]) / 1_000_000


def _write_declaration(folder: Path, declaration: str) -> None:
    replace_file(folder / DECLARATION_FILE, declaration.encode())
    if (marker := _find_marker(folder)) is not None:
        _write(marker, _read(marker))  # it has the checksum of the spec


def _stamp_of(path: str | Path) -> Hashable:
    """Return a token of a file that differs when it was written or replaced; None where there is
    none.
    """
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_mtime_ns, known.st_ino, known.st_size


def _find_marker(folder: Path) -> Path | None:
    return next(
        (folder / file for file in (INSTALLED_FILE, BUILDING_FILE) if (folder / file).is_file()),
        None,
    )


def _require_disposable(folder: Path) -> None:
    """Refuse a folder without a marker that may hold a catalogue: it has more than the first files
    of a build.
    """
    files = sorted(path.name for path in folder.iterdir())
    if any(name != DECLARATION_FILE and not name.endswith(HALF_WRITTEN) for name in files):
        raise StorageError(
            f"{folder} has no {INSTALLED_FILE} but has {', '.join(files[:5])}; it may be a"
            " catalogue, so it is left as "
            f'it is. To keep it, write {{"spec": "NAME"}}, the package or spec it follows, into '
            f"{folder / INSTALLED_FILE}; to build anew, move the folder away"
        )


def require_name(name: str) -> None:
    """Refuse a name that is not valid for a catalogue."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"'{name}' cannot name a catalogue: lower-case letters, digits, '-' and '_' only"
        )


def _iter_whole(markers: Iterable[Path]) -> Iterator[Installed]:
    """Yield the catalogues whose marker is not damaged."""
    for marker in markers:
        with suppress(StorageError):
            yield _read(marker)


def _read(marker: Path) -> Installed:
    try:
        # it may have been edited: `find_changed_file` tells
        known = orjson.loads(marker.read_bytes())
        return Installed(
            name=marker.parent.name,
            spec_name=str(known["spec"]),
            folder=marker.parent,
            sources=tuple(str(source) for source in known.get("sources", ())),
            model=str(known.get("model", "")),
            **{name: known[name] for name in OWN_WORDS if name in known},
        )
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        problem = (
            f'{marker} is damaged; write {{"spec": "NAME"}}, the package or spec it follows, into'
            " it again"
        )
        raise StorageError(problem) from error


def _write(marker: Path, catalogue: Installed) -> None:
    known = {"spec": catalogue.spec_name, "sources": catalogue.sources}
    known |= {"model": catalogue.model} if catalogue.model else {}
    known |= {
        name: value for name in OWN_WORDS if (value := getattr(catalogue, name)) not in ("", None)
    }
    declared = _declaration_sum(marker.parent)
    known |= {"declaration": declared} if declared else {}
    replace_file(marker, dump_checked(known))


def find_changed_file(folder: Path) -> str | None:
    """Return which of a catalogue's marker and its own spec is not what was written; None where
    both are.
    """
    marker = _find_marker(folder)
    if marker is None:
        return None
    try:
        told = load_checked(marker.read_bytes(), MEMBERS).get("declaration", "")
    except (OSError, ValueError):
        return (
            f"{marker.name} is not what was written; add the source again, or put it back from a"
            " back-up"
        )
    if told and told != _declaration_sum(folder):
        return (
            f"{DECLARATION_FILE} is not what was written; add the source again, or put it back from"
            " a back-up"
        )
    return None


def _declaration_sum(folder: Path) -> str:
    """Return the checksum of a catalogue's own spec; empty where it has none."""
    path = folder / DECLARATION_FILE
    return sum_of(path.read_bytes()) if path.is_file() else ""


def replace_file(path: Path, content: bytes, *, is_synced: bool = False) -> None:
    """Write a file so that a reader finds the former content or all of the new one, and after a
    power cut too.
    """
    fresh = path.with_name(path.name + HALF_WRITTEN)
    try:
        fresh.write_bytes(content)
        if is_synced:
            sync_file(fresh)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    if is_synced:
        sync_folder(path.parent)
    FileWatch.written_here += 1


def remove_file(path: Path) -> bool:
    """Remove a file, and tell whether there was one."""
    existed = path.is_file()
    path.unlink(missing_ok=True)
    FileWatch.written_here += 1
    return existed
