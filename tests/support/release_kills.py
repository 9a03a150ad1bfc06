"""Installations and updates that are killed at every step: `python -m support.release_kills [KILLS [FIRST LAST]]`.

A step is a function of the code at which the process ends at once, before or after the call, at one of its calls. The
process is a fork of this one, so that a kill costs no start of Python. After each kill the library is opened as a
server would, which must find the former version or the new one, whole; then the same command is run to its end.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.library import Library
from stackroom.model.scope import WHOLE
from stackroom.packs import fetch, held, places
from stackroom.packs import install as installing
from stackroom.packs.install import install_release
from stackroom.packs.installed import InstalledPack
from stackroom.packs.places import FolderPlace
from stackroom.packs.update import ReleaseChanges, roll_back, update_catalogue
from stackroom.settings import Settings
from stackroom.shelf.embedded.index_files import BaseFolder
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.text_index import TextIndex
from stackroom.tools.health import VECTORS_PART, check_catalogue
from support.publisher import NAME, Publisher, make_stars, new_publisher

KILLED = 9
STARS = 1_200
OLD, NEW = "1.0.0", "1.1.0"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A function at which a process is killed: before or after it, at any of its calls."""

    name: str
    owner: Any
    attribute: str
    calls: int = 1
    """How often the function is called, about: the call to end at is drawn from these."""


SETTLING = (
    Step(name="the files of the release are brought up to the store", owner=InstalledPack, attribute="settle"),
    Step(name="a file of the release is written", owner=InstalledPack, attribute="_write", calls=4),
    Step(name="the files of former releases are removed", owner=InstalledPack, attribute="remove_other_files"),
)
INDEXING = (
    Step(name="the index is brought up to the store", owner=EmbeddedShelf, attribute="publish"),
    Step(name="the base of the index is swapped", owner=BaseFolder, attribute="swap"),
)
INSTALL_STEPS = (
    Step(name="the index of releases is read", owner=FolderPlace, attribute="list_releases"),
    Step(name="the folder is reserved", owner=Library, attribute="reserve"),
    Step(name="the place is noted", owner=InstalledPack, attribute="save_source"),
    Step(name="the release is noted", owner=InstalledPack, attribute="save_next"),
    Step(name="a file is fetched", owner=FolderPlace, attribute="bring", calls=3),
    Step(name="a fetched file is put in its place", owner=places, attribute="install_file", calls=3),
    Step(name="the store is made", owner=Store, attribute="create"),
    Step(name="records are written", owner=Store, attribute="apply", calls=3),
    *INDEXING,
    Step(name="the text is indexed", owner=TextIndex, attribute="build"),
    Step(name="the calibration is written", owner=installing, attribute="save_release_calibration"),
    *SETTLING,
    Step(name="it is made visible", owner=Library, attribute="complete"),
)
UPDATE_STEPS = (
    Step(name="the index of releases is read", owner=FolderPlace, attribute="list_releases"),
    Step(name="the release is noted", owner=InstalledPack, attribute="save_next", calls=2),
    Step(name="a patch is fetched", owner=FolderPlace, attribute="bring", calls=2),
    Step(name="a patch is applied", owner=fetch, attribute="apply_patch", calls=2),
    Step(name="a patched file is written", owner=InstalledPack, attribute="save_file", calls=2),
    Step(name="the changes are chosen", owner=ReleaseChanges, attribute="apply_to"),
    Step(name="the changes are committed", owner=Store, attribute="apply"),
    Step(name="the calibration is written", owner=held, attribute="save_release_calibration"),
    *SETTLING,
    *INDEXING,
    Step(name="the text is indexed", owner=TextIndex, attribute="update"),
)
ANYTIME = Step(name="any moment", owner=None, attribute="")


def kill_at(step: Step, *, call: int, is_before: bool) -> None:
    """Make this process end at a step."""
    real, calls = getattr(step.owner, step.attribute), iter(range(1, 1_000_000))

    def dying(*args: Any, **kwargs: Any) -> Any:
        number = next(calls)
        if number == call and is_before:
            os._exit(KILLED)
        result = real(*args, **kwargs)
        if number == call:
            os._exit(KILLED)
        return result

    setattr(step.owner, step.attribute, dying)


def run_killed(action: Callable[[], object], arm: Callable[[], None], *, after_s: float | None = None) -> bool:
    """Run an action in a fork that is armed to end; tell whether it ended before it was done."""
    child = os.fork()
    if child == 0:
        try:
            arm()
            action()
        except SystemExit:
            os._exit(KILLED)
        except BaseException as error:
            print(f"unexpected: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED, -signal.SIGKILL), f"the action failed by itself ({code})"
    return code != 0


@contextmanager
def opened(home: Path) -> Iterator[App]:
    """Open a library as a new process does."""
    app = App(Settings(home=home))
    try:
        yield app
    finally:
        app.close()


def versions_in(home: Path, stars: int = STARS) -> set[str]:
    """Return the versions that the records of the catalogue name; none where it is not installed."""
    with opened(home) as app:
        if app.library.find_installed(NAME) is None:
            return set()
        catalogue = app.open_catalogue(NAME)
        reader = catalogue.shelf.reader()
        records = reader.fetch(reader.scan(scope=WHOLE, limit=1_000_000), scope=WHOLE).values()
        assert len(records) == stars, f"{len(records)} records"
        return {str(record.get("version")) for record in records}


def require_whole(home: Path, version: str, stars: int = STARS) -> None:
    """Check that a version is installed, and nothing is wrong with it."""
    assert versions_in(home, stars) == {version}
    with opened(home) as app:
        found = check_catalogue(app.open_catalogue(NAME))
        problems = [str(problem) for problem in found if problem.part != VECTORS_PART]  # its model is the tests' own
        pack = InstalledPack(app.library.get_installed(NAME).folder / "pack")
        manifest = pack.find_manifest()
        assert manifest is not None
        assert manifest.version == version
        assert pack.find_next() is None
    assert not problems, problems


def install_newest(home: Path, publisher: Publisher) -> None:
    """Install the catalogue, as the command does."""
    with opened(home) as app:
        install_release(app, NAME, str(publisher.folder))


def bring_up(home: Path) -> None:
    """Update the catalogue, as the command does."""
    with opened(home) as app:
        update_catalogue(app, NAME)


def go_back(home: Path) -> None:
    """Go back to the former release, as the command does."""
    with opened(home) as app:
        roll_back(app, NAME)


def forget_former(home: Path) -> None:
    """Forget the release that was rolled back, so that the next update fetches it again."""
    InstalledPack(home / "catalogues" / NAME / "pack").forget_former()


@dataclass(kw_only=True)
class Killings:
    """A library that is installed and updated over and over, and killed on the way."""

    folder: Path
    drawn: random.Random
    stars: int = STARS
    kills: int = 0
    finished: int = 0
    """How often an action was done before it came to the step."""

    def __post_init__(self) -> None:
        self.publisher = new_publisher(self.folder)
        self.publisher.publish(OLD, make_stars(self.stars, OLD).values())
        self.homes = 0
        self.updated: Path | None = None

    def new_home(self) -> Path:
        """Return an empty library."""
        self.homes += 1
        return self.folder / f"home-{self.homes}"

    def kill_install(self, step: Step, times: int) -> None:
        """Kill the installation of the newest release at a step, several times, then finish it."""
        version = self.publisher.versions[-1]
        for _ in range(times):
            home = self.new_home()
            self._kill(lambda home=home: install_newest(home, self.publisher), step)  # type: ignore[misc]
            found = versions_in(home, self.stars)
            assert found in (set(), {version}), f"{step.name}: {found}"
            install_newest(home, self.publisher)
            require_whole(home, version, self.stars)

    def updatable(self) -> Path:
        """Return a library with the former of two releases, made once."""
        if self.updated is None:
            self.updated = self.new_home()
            install_newest(self.updated, self.publisher)
            self.publisher.publish(NEW, make_stars(self.stars, NEW).values())
        return self.updated

    def kill_update(self, step: Step, times: int) -> None:
        """Kill the update to the newest release at a step, several times; each is finished and taken back."""
        home = self.updatable()
        former, version = self.publisher.versions[-2:]
        for _ in range(times):
            forget_former(home)
            self._kill(lambda: bring_up(home), step)
            found = versions_in(home, self.stars)
            assert found in ({former}, {version}), f"{step.name}: {found}"
            bring_up(home)
            require_whole(home, version, self.stars)
            go_back(home)
            require_whole(home, former, self.stars)

    def _kill(self, action: Callable[[], object], step: Step) -> None:
        if step is ANYTIME:
            was_killed = run_killed(action, lambda: None, after_s=self.drawn.uniform(0, 0.6))
        else:
            call, is_before = self.drawn.randint(1, step.calls), self.drawn.random() < 0.5
            was_killed = run_killed(action, lambda: kill_at(step, call=call, is_before=is_before))
        self.kills += was_killed
        self.finished += not was_killed


def main(times: int, first: int, last: int) -> None:
    """Kill at each of these steps so many times, and print how often."""
    steps = [("install", step) for step in (*INSTALL_STEPS, ANYTIME)]
    steps += [("update", step) for step in (*UPDATE_STEPS, ANYTIME)]
    with tempfile.TemporaryDirectory() as folder:
        killings = Killings(folder=Path(folder), drawn=random.Random(first))
        for action, step in steps[first:last]:
            killings.kill_install(step, times) if action == "install" else killings.kill_update(step, times)
            print(f"{action}, {step.name}: {times} times", flush=True)
        print(
            f"{killings.kills} kills, {killings.finished} runs that were done before the step: "
            "the former or the new version, never neither or a mix"
        )


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(given[0] if given else 20, *(given[1:3] if len(given) > 2 else (0, 1_000)))
