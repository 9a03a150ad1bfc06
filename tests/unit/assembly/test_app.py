"""The app: one damaged catalogue does not keep the others from being served."""

import threading
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.errors import ExpectedError, ModelError
from stackroom.settings import Settings
from support.libraries import add_rows

REQUESTS_THREAD = "requests"
SPEC = """
name = "films"
title = "Films"
summary = "Films."

[fields.title]
type = "text"
role = "title"
search = true
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Settings(home=tmp_path / "home"))
    rows = tmp_path / "films.jsonl"
    rows.write_text('{"title": "Heat"}\n')
    add_rows(app, rows, SPEC)
    return app


def damage(app: App) -> None:
    (app.library.get_installed("films").folder / "catalogue.toml").write_text(SPEC + "x y")


def test_where_no_catalogue_can_be_opened_the_reason_is_said(app: App) -> None:
    damage(app)
    with pytest.raises(ExpectedError, match=r"no catalogue can be opened; .*not valid TOML"):
        app.build_gate()


def test_a_build_without_the_model_leaves_nothing_behind(tmp_path: Path) -> None:
    app = App(Settings(home=tmp_path / "home", offline=True))
    with pytest.raises(ModelError):
        add_sample(app, "handbook", progress=lambda _report: None)
    assert list((tmp_path / "home").rglob("*.json")) == []
    app.close()


def test_a_closed_app_has_no_connections(tmp_path: Path, embedding_server: Any) -> None:
    app = App(Settings(home=tmp_path / "home", embedding=embedding_server.settings()))
    before = set(threading.enumerate())
    app.embedder.embed_query("robots")
    (asking,) = (
        one for one in threading.enumerate() if one not in before and one.name == REQUESTS_THREAD
    )
    app.close()
    asking.join(120)
    assert not asking.is_alive()
