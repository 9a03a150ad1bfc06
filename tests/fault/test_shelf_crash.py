"""A process that dies while it writes to the embedded shelf loses nothing acknowledged; a damaged index is rebuilt."""

import logging
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.text_index import TextIndex
from stackroom.text.analyser import analyse_query

SPEC = PACKAGES.get("anime").spec
CHILD_TIMEOUT_S = 120.0

CHILD = """
import os, pathlib, shutil, sys
import numpy as np
from stackroom.packages import PACKAGES
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.vectors import ModelId
from stackroom.shelf.embedded import index_files, shelf_index
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.text_index import TextIndex
from stackroom.shelf.port import Delete, Embedding, Put

def die(*_args, **_kwargs):
    os._exit(9)

def die_at(count, real):
    calls = iter(range(1, 1_000_000))
    return lambda *args, **kwargs: die() if next(calls) == count else real(*args, **kwargs)

def put(number):
    row = np.random.default_rng(number).normal(size=8)
    return Put(
        record=Record(
            id=RecordId(f"r{number}"),
            fields={"title": f"Robot {number}", "synopsis": "a robot story", "tags": (Tag("theme", f"t{number % 3}"),)},
        ),
        embedding=Embedding(digest=b"%d" % number, vector=(row / np.linalg.norm(row)).astype(np.float32)),
    )

def acknowledge(name):
    print(name, flush=True)

shelf = EmbeddedShelf.create(
    pathlib.Path(sys.argv[1]), PACKAGES.get("anime").spec, model=ModelId(name="m", dimension=8)
)
"""

PUBLISHED = (
    CHILD
    + """
for number in range(5):
    shelf.apply([put(number)])
    shelf.publish()
    acknowledge(f"r{number}")
"""
)

ENDLESS = (
    CHILD
    + """
shelf_index.TAIL_ROWS = 3
shelf_index.TAIL_SHARE = 0
for number in range(100_000):
    shelf.apply([put(number)])
    shelf.publish()
    acknowledge(f"r{number}")
"""
)


def run_child(script: str, folder: Path) -> tuple[int, list[str]]:
    """Run a script to its end, and return how it ended and what it acknowledged."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=CHILD_TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout.split()


def kill_child_after(acknowledgements: int, script: str, folder: Path) -> list[str]:
    """Kill a script as soon as it has acknowledged so much, and return everything it acknowledged."""
    with subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline().strip() for _ in range(acknowledgements)]
        child.send_signal(signal.SIGKILL)
        acknowledged += child.stdout.read().split()
    assert child.returncode == -signal.SIGKILL
    return acknowledged


def answers(shelf: EmbeddedShelf) -> dict[str, Any]:
    """Return what the shelf answers to every kind of read; scores apart, which count deleted records a while longer."""
    view = shelf.reader()
    keys = view.scan(scope=WHOLE, limit=10_000)
    words = view.lexical(analyse_query("robot", synonyms={}), scope=WHOLE, limit=10_000)
    (near,) = view.nearest(np.eye(1, 8, dtype=np.float32) + np.float32(0.01), scope=WHOLE, limit=10)
    return {
        "ids": view.ids(keys),
        "titles": [SPEC.title_of(record) for record in view.fetch(keys, scope=WHOLE).values()],
        "words": (sorted(hit.key for hit in words.best), words.total),
        "near": [hit.key for hit in near.best],
        "facets": view.facets("tags", scope=WHOLE),
        "count": view.count(WHOLE),
        "like": [match.key for match in view.titles_like("robot 3", scope=WHOLE, limit=1)],
    }


def require_whole(folder: Path, acknowledged: list[str]) -> list[str]:
    """Check that nothing acknowledged is lost and that the answers are those of a rebuild; return the ids there are."""
    shelf = EmbeddedShelf.open(folder, SPEC)
    found = answers(shelf)
    assert list(shelf.check()) == []
    assert lost(acknowledged, shelf) == set()
    shelf.close()
    shutil.rmtree(folder / "index")
    rebuilt = EmbeddedShelf.open(folder, SPEC)
    assert answers(rebuilt) == found
    rebuilt.close()
    return [str(record_id) for record_id in found["ids"]]


def lost(acknowledged: list[str], shelf: EmbeddedShelf) -> set[str]:
    return set(acknowledged) - set(shelf.reader().find([RecordId(name) for name in acknowledged], scope=WHOLE))


# Dying while writing


def test_dying_between_the_stores_commit_and_the_indexs_loses_nothing(tmp_path: Path) -> None:
    dying = PUBLISHED + "TextIndex.update = die\nshelf.apply([put(5)])\nacknowledge('r5')\nshelf.publish()\n"
    code, acknowledged = run_child(dying, tmp_path)
    assert (code, acknowledged[-1]) == (9, "r5")
    assert (reached_by_text(tmp_path), EmbeddedShelf.open(tmp_path, SPEC).store.change_no()) == (5, 6)
    assert len(require_whole(tmp_path, acknowledged)) == 6


def reached_by_text(folder: Path) -> int:
    (text,) = folder.glob("index/*/text")
    return TextIndex(text, SPEC).change_no()


def test_dying_within_a_batch_leaves_nothing_of_it(tmp_path: Path) -> None:
    dying = PUBLISHED + "Store._log = die_at(3, Store._log)\nshelf.apply([put(number) for number in range(5, 9)])\n"
    code, acknowledged = run_child(dying, tmp_path)
    assert code == 9
    assert require_whole(tmp_path, acknowledged) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    "moment",
    [
        "index_files.save_segment = die",
        "os.fsync = die_at(4, os.fsync)",
        "os.replace = die_at(1, os.replace)",
        "os.replace = die_at(2, os.replace)",
        "os.replace = die_at(3, os.replace)",
        "os.replace = die_at(4, os.replace)",
        "shutil.rmtree = die_at(2, shutil.rmtree)",
    ],
    ids=[
        "before-saving",
        "while-saving",
        "before-the-checksums-of-the-text",
        "before-the-checksums-of-the-base",
        "before-the-move",
        "before-the-pointer",
        "before-cleaning-up",
    ],
)
def test_dying_while_the_base_is_swapped_loses_nothing(tmp_path: Path, moment: str) -> None:
    dying = (
        PUBLISHED + f"shelf_index.TAIL_ROWS = 0\nshelf.apply([put(5)])\nacknowledge('r5')\n{moment}\nshelf.publish()\n"
    )
    code, acknowledged = run_child(dying, tmp_path)
    assert (code, acknowledged[-1]) == (9, "r5")
    assert len(require_whole(tmp_path, acknowledged)) == 6


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_kill_at_any_point_of_a_run_of_puts_loses_nothing_acknowledged(tmp_path: Path, seed: int) -> None:
    acknowledged = kill_child_after(random.Random(seed).randint(3, 25), ENDLESS, tmp_path)
    found = require_whole(tmp_path, acknowledged)
    assert len(found) - len(acknowledged) in (0, 1)


# Damaged files of the index


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGE: list[tuple[str, Callable[[Path], None]]] = [
    ("CURRENT", empty),
    ("CURRENT", lambda path: path.write_text("base-999")),
    ("CURRENT", lambda path: path.write_bytes(b"\xff\x00")),
    ("base-*/meta.json", Path.unlink),
    ("base-*/meta.json", cut),
    ("base-*/meta.json", lambda path: path.write_text("[]")),
    ("base-*/keys.npy", cut),
    ("base-*/keys.npy", empty),
    ("base-*/vectors.npy", Path.unlink),
    ("base-*/vectors.npy", cut),
    ("base-*/title_letters.npy", cut),
    ("text/meta.json", cut),
    ("text/meta.json", Path.unlink),
    ("text/*.term", cut),
    ("text/*.idx", Path.unlink),
    ("text/*.pos", Path.unlink),
    ("text/*.fast", empty),
    ("text/*.store", cut),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    assert run_child(PUBLISHED, folder)[0] == 0
    return folder


@pytest.fixture
def damaged(published: Path, tmp_path: Path) -> Callable[[str, Callable[[Path], None]], Path]:
    def damage(pattern: str, how: Callable[[Path], None]) -> Path:
        folder = tmp_path / "damaged"
        shutil.copytree(published, folder)
        files = list(folder.glob(f"index/*/{pattern}"))
        assert files
        for path in files:
            how(path)
        return folder

    return damage


@pytest.mark.parametrize(("pattern", "how"), DAMAGE)
def test_an_index_with_cut_or_missing_files_is_built_anew_and_answers_as_before(
    published: Path, damaged: Any, pattern: str, how: Callable[[Path], None]
) -> None:
    before = EmbeddedShelf.open(published, SPEC)
    after = EmbeddedShelf.open(damaged(pattern, how), SPEC)
    assert answers(after) == answers(before)
    after.close()
    before.close()


def test_building_an_index_anew_is_told_in_the_log(damaged: Any, caplog: pytest.LogCaptureFixture) -> None:
    shelf = EmbeddedShelf.open(damaged("base-*/keys.npy", cut), SPEC)
    with caplog.at_level(logging.WARNING):
        shelf.reader()
    assert "'anime' is rebuilt" in caplog.text
    shelf.close()


def test_a_writer_mends_a_damaged_index_too(damaged: Any) -> None:
    shelf = EmbeddedShelf.open(damaged("text/*.term", cut), SPEC)
    shelf.publish()
    assert answers(shelf)["words"][1] == 5
    shelf.close()
