"""Releases that are swapped in under load: `python -m support.release_swaps [SWAPS]`.

A library is served in this process, and updated by another, over and over, between two versions
whose records all name their version. Meanwhile it is asked many times a second; each answer must
come, and be of one version.
"""

import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from stackroom.settings import Settings
from support.kills import run_child
from support.libraries import Library, opened
from support.publisher import NAME, make_stars, new_publisher, versions_in_answer
from support.release_kills import NEW, OLD, STARS, bring_up, go_back, install_newest

QUERIES_PER_S = 50
WORDS = ("amber star", "golden", "icy star of number", "faint eastern", "hidden")


@dataclass(kw_only=True)
class Load:
    """Asks a library at a steady rate, and keeps what was wrong with the answers."""

    library: Library
    asked: int = 0
    failed: list[str] = field(default_factory=list)
    mixed: list[set[str]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The versions of the answers, without repetitions in a row."""
    took_s: list[float] = field(default_factory=list)
    _ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until the end, each question at its time."""
        began = time.monotonic()
        while not self._ends.wait(max(began + self.asked / QUERIES_PER_S - time.monotonic(), 0)):
            self.ask(WORDS[self.asked % len(WORDS)])

    def end(self) -> None:
        """Ask no more."""
        self._ends.set()

    def ask(self, words: str) -> None:
        """Ask one question, and look at the answer."""
        began = time.monotonic()
        answer = self.library.call("search", query=words, catalogue=NAME, limit=20)
        self.took_s.append(time.monotonic() - began)
        self.asked += 1
        if answer.is_error or answer.structured is None:
            self.failed.append(answer.text)
            return
        self._note(versions_in_answer(answer.structured))

    def _note(self, versions: set[str]) -> None:
        if len(versions) != 1:
            self.mixed.append(versions)
        elif self.seen[-1:] != [version := next(iter(versions))]:
            self.seen.append(version)


def swap(home: Path, times: int) -> None:
    """Update and go back, in turn."""
    for number in range(times):
        bring_up(home) if number % 2 == 0 else go_back(home)


def run_swaps(folder: Path, swaps: int, *, stars: int = STARS) -> Load:
    """Swap releases so many times while a library is asked, and return what the answers were
    like.
    """
    publisher = new_publisher(folder)
    publisher.publish(OLD, make_stars(stars, OLD).values())
    home = folder / "home"
    install_newest(home, publisher.folder)
    publisher.publish(NEW, make_stars(stars, NEW).values())
    with opened(Settings(home=home)) as library:
        load = Load(library=library)
        load.ask(WORDS[0])
        asking = threading.Thread(target=load.run)
        asking.start()
        updates = run_child(swap, home, swaps)
        load.end()
        asking.join()
        assert updates.code == 0, "the updates failed"
        load.ask(WORDS[0])
    return load


def main(swaps: int = 100) -> None:
    """Swap so many times, and print what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        load = run_swaps(Path(folder), swaps)
    slowest = sorted(load.took_s)
    print(
        f"{swaps} swaps, {load.asked} queries, {len(load.failed)} failed, {len(load.mixed)} mixed,"
        f" {len(load.seen) - 1} changes of version seen, p50"
        f" {slowest[len(slowest) // 2] * 1000:.1f} ms, p99"
        f" {slowest[int(len(slowest) * 0.99)] * 1000:.1f} ms"
    )
    assert not load.failed, load.failed[:3]
    assert not load.mixed, load.mixed[:3]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
