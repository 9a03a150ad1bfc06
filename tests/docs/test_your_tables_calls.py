"""The calls of an assistant that `docs/your-tables.md` shows are answered as the page says."""

import re
from typing import Any

import orjson
import pytest

from stackroom.cli.main import main
from stackroom.settings import Settings
from support.libraries import opened
from support.pages import ROOT, missing_lines

PAGE = ROOT / "docs" / "your-tables.md"
TABLE = ROOT / "docs" / "examples" / "wines.csv"


def fenced(language: str) -> list[str]:
    """Return the blocks of a language on the page."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.row("N1")
def test_the_calls_that_an_assistant_makes_are_answered_as_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    main(["add", str(TABLE), "--type", "grape=tag[]", "--yes", "--no-embed"])
    calls, answers = fenced("json"), fenced("text")
    assert len(calls) == len(answers) >= 2
    with opened(Settings(home=tmp_path, offline=True), "wines") as library:
        for call, shown in zip(calls, answers, strict=True):
            asked = orjson.loads(call)
            answer = library.call(asked["name"], **asked["arguments"])
            assert answer.structured is not None
            found = [
                f"{hit['title']}: {in_words(hit['fields'])}"
                for hit in answer.structured.get("results", ())
            ]
            assert missing_lines(tuple(shown.splitlines()), "\n".join(found) or answer.text) == []


def in_words(fields: dict[str, Any]) -> str:
    values = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in fields.items()
    }
    return " · ".join(f"{name}: {value}" for name, value in values.items())
