"""`stackroom add`, killed again and again: nothing is lost or doubled, and what was embedded is not
embedded again.
"""

import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.ingest.embedding import MOST_BATCH
from stackroom.model.scope import WHOLE
from stackroom.settings import EmbeddingSettings, Settings
from support.launching import STACKROOM, Started, launch
from support.libraries import opened

pytestmark = [pytest.mark.row("A10"), pytest.mark.row("N12")]

ROWS = 500
REQUESTS = -(-ROWS // EmbeddingSettings().batch_size)
"""How many requests an undisturbed build makes."""

KILLS = sorted(random.Random(20261115).sample(range(1, REQUESTS), 3))
"""The requests at which the build is killed: each a little later than the one before, so that every
run gets on.
"""


def rows() -> Iterator[dict[str, Any]]:
    words = random.Random(7)
    subjects = [
        "robots",
        "witches",
        "bakers",
        "pirates",
        "ghosts",
        "teachers",
        "detectives",
        "gardeners",
    ]
    for number in range(ROWS):
        yield {
            "title": f"Story {number:04}",
            "type": "TV",
            "episodes": 12,
            "status": "FINISHED",
            "animeSeason": {"season": "SPRING", "year": 1990 + number % 30},
            "tags": ["drama"],
            "synopsis": f"Number {number}: {words.choice(subjects)} meet {words.choice(subjects)}.",
            "sources": [f"https://myanimelist.net/anime/{number}"],
        }


class Builds:
    """Builds of one catalogue, in processes of their own, embedded by the server."""

    def __init__(self, server: Any, folder: Path) -> None:
        self.server = server
        self.home = folder / "home"
        self.file = folder / "stories.jsonl"
        self.file.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=110)
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)

    def start(self, *arguments: str) -> Started:
        env = {**os.environ, "STACKROOM_HOME": str(self.home), **self.server.environment()}
        return launch(
            [*STACKROOM, *arguments],
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def add(self) -> subprocess.CompletedProcess[str]:
        return self.run("add", str(self.file), "--as", "anime", "--json")

    def add_until(self, request: int, sign: int) -> subprocess.CompletedProcess[str]:
        """Build, and send the process a signal at a request of its."""
        self.server.requests = 0
        started: list[Started] = []

        def at(number: int) -> None:
            if number == request:
                os.kill(started[0].pid, sign)

        self.server.on_request = at
        started.append(self.start("add", str(self.file), "--as", "anime"))
        output, errors = started[0].communicate(timeout=110)
        self.server.on_request = lambda _number: None
        return subprocess.CompletedProcess((), started[0].returncode, output, errors)

    def require_whole(self) -> None:
        """Require that each row is a record, once, with its vector, and that the doctor finds
        nothing.
        """
        with opened(Settings(home=self.home)) as library:
            reader = library.app.open_catalogue("anime").shelf.reader()
            keys = reader.scan(scope=WHOLE, limit=ROWS + 1)
            assert sorted(reader.ids(keys)) == sorted(f"mal-{number}" for number in range(ROWS))
            assert reader.vectors(keys).any(axis=1).all()
            titles = {record.get("title") for record in reader.fetch(keys, scope=WHOLE).values()}
            assert len(titles) == ROWS
        examined = self.run("doctor", "--json")
        assert all(finding["ok"] for finding in json.loads(examined.stdout)), examined.stdout
        assert examined.returncode == 0

    def require_searchable(self) -> None:
        """Require that every record is found by its words, and that a search says how many are
        found by meaning.
        """
        with opened(Settings(home=self.home)) as library:
            view = library.app.open_catalogue("anime").view()
            assert view.reader.count(WHOLE) == ROWS
            (hit,) = view.search(f"Story {ROWS - 1:04}", scope=WHOLE).hits(1)
            assert view.spec.title_of(hit.record) == f"Story {ROWS - 1:04}"
            assert view.reader.awaiting_vectors == ROWS - self.count_vectors()
        examined = json.loads(self.run("doctor", "--json").stdout)
        assert "can be found by meaning so far" in str(examined), examined

    def count_vectors(self) -> int:
        """Return how many texts have a vector in the store."""
        with closing(
            apsw.Connection(str(self.home / "catalogues" / "anime" / "records.sqlite"))
        ) as db:
            return int(db.execute("SELECT count(*) FROM embeddings").get)

    @property
    def stories(self) -> dict[str, int]:
        """How often the text of each record was embedded; titles and probes of the calibration are
        left out.
        """
        return {text: count for text, count in self.server.texts.items() if text.count(".") > 1}

    @property
    def embedded_again(self) -> int:
        """How many texts were embedded more than once, counting each time."""
        return sum(self.stories.values()) - len(self.stories)


@pytest.fixture
def builds(embedding_server: Any, tmp_path: Path) -> Builds:
    return Builds(embedding_server, tmp_path)


def test_a_build_killed_at_several_points_and_run_again_is_whole_and_embeds_each_text_once(
    builds: Builds,
) -> None:
    done = 0
    for kill in KILLS:
        killed = builds.add_until(kill - done, signal.SIGKILL)
        assert killed.returncode == -signal.SIGKILL
        done = builds.count_vectors() // EmbeddingSettings().batch_size
        builds.require_searchable()
    finished = builds.add()
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    assert report["rows"] == ROWS == report["written"] + report["unchanged"]
    assert len(builds.stories) == ROWS
    assert builds.embedded_again <= MOST_BATCH * len(KILLS)
    builds.require_whole()


def test_ctrl_c_ends_a_build_with_a_clear_word_and_leaves_it_to_be_resumed(builds: Builds) -> None:
    stopped = builds.add_until(REQUESTS // 2, signal.SIGINT)
    assert stopped.returncode == 130
    assert 0 <= stopped.stderr.find("stopping …") < stopped.stderr.find("stopped;")
    assert (
        f"everything finished so far is kept: the {ROWS} records of 'anime' can be searched"
        in stopped.stderr
    )
    assert "of them by meaning; to go on, run the same command again" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    finished = builds.add()
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["unchanged"] == ROWS
    assert builds.embedded_again <= MOST_BATCH
    builds.require_whole()


def test_two_builds_at_once_leave_one_whole_catalogue(builds: Builds) -> None:
    first = builds.start("add", str(builds.file), "--as", "anime")
    second = builds.start("add", str(builds.file), "--as", "anime")
    ends = [process.communicate(timeout=110)[1] for process in (first, second)]
    assert 0 in (first.returncode, second.returncode), ends
    assert not any("Traceback" in errors for errors in ends), ends
    builds.require_whole()
