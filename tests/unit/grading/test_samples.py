"""The sample catalogues grade themselves: tuning raises or keeps the grade of the held-out half, and is repeatable."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.self_grading import grade_catalogue, tune_catalogue
from stackroom.grading.golden_set import GoldenSetRequest
from stackroom.settings import Settings

pytestmark = pytest.mark.row("N6")


@pytest.fixture
def samples(whole_home: Path, tmp_path: Path) -> Iterator[App]:
    """A library of one's own with every sample catalogue, without vectors."""
    shutil.copytree(whole_home, tmp_path / "home")
    app = App(Settings(home=tmp_path / "home"))
    yield app
    app.close()


@pytest.mark.parametrize("name", ["anime", "papers", "handbook", "dnd", "personal", "judoka", "music"])
def test_tuning_raises_or_keeps_the_grade_of_the_held_out_half(samples: App, name: str) -> None:
    graded = grade_catalogue(samples, name, GoldenSetRequest(questions=120))
    before = graded.catalogue.searcher.search_spec
    tuning = tune_catalogue(graded)
    kept = tuning.other_half[1] if tuning.is_accepted else tuning.other_half[0]
    assert kept.mean >= tuning.other_half[0].mean > 0.4
    assert graded.catalogue.searcher.search_spec == tuning.search
    assert tuning.is_accepted or tuning.search == before
