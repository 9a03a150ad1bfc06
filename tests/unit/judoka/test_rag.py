"""`stackroom rag …` on a small judoka library."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.errors import InputError, NotFoundError, UnavailableError
from stackroom.settings import Settings
from support.libraries import add_package

Run = Callable[..., Any]

pytestmark = [pytest.mark.row("J10"), pytest.mark.model]


@pytest.fixture
def at_rag(judokon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of this process is the small one."""
    monkeypatch.setenv("STACKROOM_HOME", str(judokon.app.settings.home))


def test_a_query_is_answered_as_text_and_as_json(at_rag: None, run: Run) -> None:
    assert "docs/rules.md [rules-1]" in run(["rag", "query", "how are points scored"]).out
    found = run(["rag", "query", "how are points scored", "--json"]).json
    assert (found["results"][0]["id"], found["hint"]) == ("rules-1", None)


def test_validate_checks_and_prints_the_hit_rate(at_rag: None, run: Run) -> None:
    told = run(["rag", "validate"])
    assert told.code == 0
    assert "hit rate 1.000: 1 of 1 questions" in told.out
    found = run(["rag", "validate", "--json"]).json
    assert (found["questions"], found["hits"], found["hit_rate"], found["ok"]) == (1, 1, 1.0, True)
    assert all(check["ok"] for check in found["checks"])


def test_validate_fails_under_its_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    noise = [{"id": str(n), "text": f"zebra {n}", "qaContext": "zebra"} for n in range(20)]
    files = tmp_path / "files"
    files.mkdir()
    card = {"id": 1, "firstname": "Kenji", "surname": "Tanaka", "stats": {"power": 9}}
    (files / "judoka.json").write_text(json.dumps([card]))
    (files / "passages.json").write_text(json.dumps(noise))
    app = App(Settings(home=tmp_path))
    add_package(app, "judoka", files)
    app.close()
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    told = run(["rag", "validate", "--json"])
    assert told.code == 1
    assert (told.json["hit_rate"], told.json["ok"]) == (0.25, False)
    assert {check["what"] for check in told.json["checks"] if not check["ok"]} == {
        "model",
        "judoka: vectors",
    }


def test_an_empty_library_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    assert run(["rag", "health"]).code == 1
    asked = run(["rag", "query", "x"])
    assert asked.code == NotFoundError.exit_code
    assert "stackroom add FOLDER --as judoka" in asked.err


def test_another_kind_of_catalogue_is_refused(
    plain_home: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(plain_home))
    told = run(["rag", "query", "x", "--catalogue", "anime"])
    assert told.code == InputError.exit_code
    assert "'anime' is a catalogue of 'anime', not of 'judoka'" in told.err


def test_prepare_leaves_a_model_that_is_there(at_rag: None, run: Run) -> None:
    assert "is ready in" in run(["rag", "prepare"]).out


@pytest.mark.row("J9")
def test_prepare_downloads_nothing_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    monkeypatch.setenv("RAG_STRICT_OFFLINE", "1")
    told = run(["rag", "prepare"])
    assert told.code == UnavailableError.exit_code
    assert "RAG_STRICT_OFFLINE" in told.err
