"""The real server process over standard input and output, as an assistant starts it."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.channels import LineChannel
from support.launching import STACKROOM
from support.wire import LEGACY

pytestmark = [pytest.mark.model, pytest.mark.row("A13")]

Start = Callable[..., LineChannel]


@pytest.fixture
def start(sample_home: Path, tmp_path: Path) -> Iterator[Start]:
    """Start servers with a raw client each; every one must end well when its input does."""
    started: list[LineChannel] = []

    def start_one(**environment: str) -> LineChannel:
        log = tmp_path / "stderr"
        environment["PYTHONWARNINGS"] = "error::RuntimeWarning"
        started.append(LineChannel(sample_home, LEGACY, "anime", environment=environment, log=log))
        return started[-1]

    yield start_one
    for channel in started:
        channel.close()


def call(channel: LineChannel, tool: str, **arguments: Any) -> Any:
    return channel.ask("tools/call", {"name": tool, "arguments": arguments})


@pytest.mark.row("A1")
def test_mushishi_is_among_the_first_ten_for_anime_like_it_but_in_space(start: Start) -> None:
    found = call(start(), "search_anime", query="anime like mushishi but in space")["result"][
        "structuredContent"
    ]
    assert "Mushishi" in [hit["title"] for hit in found["results"]]


def test_a_text_cut_in_the_middle_of_a_character_is_refused_with_the_reason(start: Start) -> None:
    channel = start()
    answer = call(channel, "search_anime", query="space pirates \ud83d", limit=1)
    assert answer["error"]["code"] == -32602
    assert "surrogate pair" in answer["error"]["message"]
    kept = call(channel, "get_anime_details", title="\\ud83d 🏴 Mushishi")
    assert kept["result"]["isError"] is False


def test_the_server_ends_when_its_input_closes_before_anything_was_asked(sample_home: Path) -> None:
    environment = {**os.environ, "STACKROOM_HOME": str(sample_home)}
    command = [*STACKROOM, "serve", "anime"]
    done = subprocess.run(
        command, env=environment, input=b"", capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.row("A12")
def test_a_server_whose_embedder_is_not_there_starts_warns_and_answers_by_words(
    start: Start, tmp_path: Path
) -> None:
    model = {"STACKROOM_EMBED_MODEL": "all-MiniLM-L6-v2", "STACKROOM_EMBED_DIMENSION": "384"}
    channel = start(
        STACKROOM_EMBED_KIND="infinity", STACKROOM_EMBED_URL="http://127.0.0.1:9", **model
    )
    found = call(channel, "search_anime", query="re:zero")["result"]["structuredContent"]
    assert found["searchMode"] == "fts_only"
    assert "cannot be reached" in found["degraded"]
    assert found["results"][0]["matchType"] == "fts"
    assert "vector search is off" in (tmp_path / "stderr").read_text()
