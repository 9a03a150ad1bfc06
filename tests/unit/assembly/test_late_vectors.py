"""Records that were written without vectors get them later, from the records alone."""

from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.assembly.model_choice import describe_waiting, embed_waiting
from stackroom.library import CALIBRATION_FILE
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings

SAMPLE = "personal"


def test_a_sample_that_was_written_without_vectors_is_embedded_and_calibrated_later(
    tmp_path: Path, embedding_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"STACKROOM_HOME": str(tmp_path), **embedding_server.environment()}.items():
        monkeypatch.setenv(name, value)
    app = App(load_settings())
    add_sample(app, SAMPLE, progress=lambda _report: None, embed=False)
    waiting = describe_waiting(app, SAMPLE)[0]
    assert waiting > 0

    report = embed_waiting(app, SAMPLE, progress=lambda _report: None)

    assert report.embedded == waiting
    assert describe_waiting(app, SAMPLE)[0] == 0
    assert (app.library.get_installed(SAMPLE).folder / CALIBRATION_FILE).is_file()
    hits = app.open_catalogue(SAMPLE).view().search("how I review code", scope=WHOLE).hits(3)
    assert "hybrid" in {hit.match_type for hit in hits}
    app.close()
