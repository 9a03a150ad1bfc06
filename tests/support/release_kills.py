"""Installations and updates that are killed at every step: `python -m support.release_kills KILLS`.

A step is a function of the code at which a process ends at once, before or after the call, at one
of its calls. After each kill the library is opened as a server would, which must find the former
version or the new one, whole; then the same command is run to its end.
"""

import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack
from stackroom.packs.update import install_release, roll_back, update_catalogue
from stackroom.settings import Settings
from stackroom.tools.health import VECTORS_PART, check_catalogue
from support.kills import KILLED, Child, die_at
from support.publisher import NAME, make_stars, new_publisher

STARS = 1_200
OLD, NEW = "1.0.0", "1.1.0"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A function at which a process is killed: before or after it, at any of its calls."""

    target: str
    calls: int = 1
    """How often the function is called, about: the call to end at is drawn from these."""


def _steps(prefix: str, **calls: int) -> tuple[Step, ...]:
    """Return the functions of a module or class, with how often each is called."""
    return tuple(Step(target=f"{prefix}{name}", calls=count) for name, count in calls.items())


READ_INDEX = _steps("stackroom.packs.places:FolderPlace.", list_releases=1)
SETTLING = _steps(
    "stackroom.packs.installed:InstalledPack.", settle=1, _write=4, remove_other_files=1
)
INDEXING = (
    *_steps("stackroom.shelf.catalogue_shelf:CatalogueShelf.", publish=1),
    *_steps("stackroom.shelf.embedded.index_files:BaseFolder.", swap=1),
)
INSTALL_STEPS = (
    *READ_INDEX,
    *_steps("stackroom.library:Library.", reserve=1, complete=1),
    *_steps("stackroom.packs.installed:InstalledPack.", save_source=1, save_next=1),
    *_steps("stackroom.packs.places:", install_file=3),
    *_steps("stackroom.packs.places:FolderPlace.", bring=3),
    *_steps("stackroom.packs.update:", save_released_calibration=1),
    *_steps("stackroom.shelf.embedded.store:Store.", create=1, apply=3),
    *_steps("stackroom.shelf.embedded.text_index:TextIndex.", build=1),
    *INDEXING,
    *SETTLING,
)
UPDATE_STEPS = (
    *READ_INDEX,
    *_steps("stackroom.packs.installed:InstalledPack.", save_next=2, save_file=2),
    *_steps("stackroom.packs.places:FolderPlace.", bring=2),
    *_steps("stackroom.packs.places:", apply_patch=2),
    *_steps("stackroom.packs.update:", merge=1, save_released_calibration=1),
    *_steps("stackroom.shelf.embedded.store:Store.", apply=1),
    *_steps("stackroom.shelf.embedded.text_index:TextIndex.", update=1),
    *SETTLING,
    *INDEXING,
)
ANYTIME = Step(target="any moment")


def do_and_die(
    target: str, call: int, is_before: bool, work: Callable[..., object], *arguments: Any
) -> None:
    """Do something in a process that ends at a call of a function."""
    die_at(target, call, is_before=is_before)
    work(*arguments)


def opened(home: Path) -> closing[App]:
    """Open a library as a new process does."""
    return closing(App(Settings(home=home)))


def versions_in(home: Path, stars: int = STARS) -> set[str]:
    """Return the versions that the records of the catalogue name; none where it is not
    installed.
    """
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
        # its model is the tests' own
        problems = [str(problem) for problem in found if problem.part != VECTORS_PART]
        pack = InstalledPack(app.library.get_installed(NAME).folder / "pack")
        manifest = pack.find_manifest()
        assert manifest is not None
        assert manifest.version == version
        assert pack.find_next() is None
    assert not problems, problems


def install_newest(home: Path, place: Path) -> None:
    """Install the catalogue, as the command does."""
    with opened(home) as app:
        install_release(app, NAME, str(place))


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
            self._kill(step, install_newest, home, self.publisher.folder)
            found = versions_in(home, self.stars)
            assert found in (set(), {version}), f"{step.target}: {found}"
            install_newest(home, self.publisher.folder)
            require_whole(home, version, self.stars)

    def updatable(self) -> Path:
        """Return a library with the former of two releases, made once."""
        if self.updated is None:
            self.updated = self.new_home()
            install_newest(self.updated, self.publisher.folder)
            self.publisher.publish(NEW, make_stars(self.stars, NEW).values())
        return self.updated

    def kill_update(self, step: Step, times: int) -> None:
        """Kill the update to the newest release at a step, several times; each is finished and
        taken back.
        """
        home = self.updatable()
        former, version = self.publisher.versions[-2:]
        for _ in range(times):
            forget_former(home)
            self._kill(step, bring_up, home)
            found = versions_in(home, self.stars)
            assert found in ({former}, {version}), f"{step.target}: {found}"
            bring_up(home)
            require_whole(home, version, self.stars)
            go_back(home)
            require_whole(home, former, self.stars)

    def _kill(self, step: Step, work: Callable[..., object], *arguments: Any) -> None:
        if step is ANYTIME:
            child = Child(work, *arguments)
            time.sleep(self.drawn.uniform(0, 0.6))
            child.kill()
        else:
            call, is_before = self.drawn.randint(1, step.calls), self.drawn.random() < 0.5
            child = Child(do_and_die, step.target, call, is_before, work, *arguments)
        code = child.wait().code
        assert code in (0, KILLED, -signal.SIGKILL), f"the action failed by itself ({code})"
        self.kills += code != 0
        self.finished += code == 0


def main(times: int) -> None:
    """Kill at each of these steps so many times, and print how often."""
    steps = [("install", step) for step in (*INSTALL_STEPS, ANYTIME)]
    steps += [("update", step) for step in (*UPDATE_STEPS, ANYTIME)]
    with tempfile.TemporaryDirectory() as folder:
        killings = Killings(folder=Path(folder), drawn=random.Random(0))
        for action, step in steps:
            killings.kill_install(step, times) if action == "install" else killings.kill_update(
                step, times
            )
            print(f"{action}, {step.target}: {times} times", flush=True)
        print(
            f"{killings.kills} kills, {killings.finished} runs that were done before the step: "
            "the former or the new version, never neither or a mix"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
