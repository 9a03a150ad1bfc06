"""The music sample: the form of every record, how records refer to each other, and the pieces that
can be played.

What cannot be checked here is whether the facts are true.
"""

import importlib.util
import io
import json
import sys
import wave
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from stackroom_catalogues.music import synth
from stackroom_catalogues.music.rows import SAMPLE

pytestmark = pytest.mark.row("Z4")

MAKER = Path(__file__).resolve().parents[3] / "scripts" / "music_sample" / "make_library.py"
PIECE_SECONDS = (10.0, 20.0)
LOUDEST = 0.9


Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def test_there_are_as_many_of_each_kind_as_is_said(rows: list[Row], by_id: dict[str, Row]) -> None:
    assert Counter(row["kind"] for row in rows) == {"artist": 46, "album": 85, "track": 542}
    assert len(by_id) == len(rows)


def test_every_reference_leads_to_the_record_it_names(
    rows: list[Row], by_id: dict[str, Row]
) -> None:
    for row in rows:
        artists = [by_id[one] for one in row.get("artist_ids", ())]
        assert {one["kind"] for one in artists} <= {"artist"}
        assert [one["name"] for one in artists] == row.get("artists", []), row["id"]
        if row["kind"] == "track":
            album = by_id[row["album_id"]]
            assert (album["kind"], album["name"]) == ("album", row["album"])
            assert album["artist_ids"] == row["artist_ids"]
            assert row.get("year", 0) <= album.get("year", 0)


def test_those_tracks_can_be_played_that_a_piece_is_written_for(rows: list[Row]) -> None:
    playable = {row["id"]: row["file"] for row in rows if "file" in row}
    assert playable == {
        piece.track_id: synth.file_of(piece.track_id) for piece in synth.load_pieces()
    }


def test_a_track_that_can_be_played_is_as_long_as_its_file(by_id: dict[str, Row]) -> None:
    for piece in synth.load_pieces():
        with wave.open(io.BytesIO(synth.render(piece))) as file:
            length_s = file.getnframes() / file.getframerate()
        assert by_id[piece.track_id]["seconds"] == pytest.approx(length_s, abs=0.06), piece.track_id


@pytest.mark.parametrize("piece", synth.load_pieces()[:4], ids=lambda piece: piece.track_id)
def test_a_piece_is_the_same_each_time_long_enough_not_too_loud_and_without_a_click(
    piece: synth.Tune,
) -> None:
    content = synth.render(piece)
    assert content == synth.render(piece)
    with wave.open(io.BytesIO(content)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 22_050)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    assert PIECE_SECONDS[0] <= len(samples) / 22_050 <= PIECE_SECONDS[1]
    assert 0.3 < float(np.abs(samples).max()) < LOUDEST
    assert abs(samples[0]) < 0.01
    assert np.abs(samples[-20:]).max() < 0.01


def test_the_sample_is_what_its_lists_make(maker: ModuleType) -> None:
    assert maker.build_text() == SAMPLE.read_text("utf-8"), (
        "run: python scripts/music_sample/make_library.py"
    )


@pytest.fixture
def maker() -> ModuleType:
    """The script that writes the sample."""
    spec = importlib.util.spec_from_file_location("make_library", MAKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
