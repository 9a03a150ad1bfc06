"""The log as JSON: every line is one object, whatever is in it."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from stackroom.serve.logs import JSONLines, TextLines


def line_of(message: str, *arguments: object, **fields: object) -> dict[str, object]:
    record = logging.LogRecord(
        "stackroom.test", logging.WARNING, "x.py", 1, message, arguments, None
    )
    record.stackroom = fields
    line = JSONLines().format(record)
    assert "\n" not in line
    return dict(json.loads(line))


def test_a_line_has_its_message_and_its_fields() -> None:
    line = line_of("%s is söft", "snow", user="ada", ms=1.5)
    assert (line["level"], line["logger"], line["message"]) == (
        "WARNING",
        "stackroom.test",
        "snow is söft",
    )
    assert (line["user"], line["ms"]) == ("ada", 1.5)


@pytest.mark.parametrize("value", ["caf\udce9.wav", Path("x.wav"), 2**70])
def test_a_value_that_json_does_not_have_loses_no_line(value: object) -> None:
    assert line_of("%s is away", value, value=value)["message"] == f"{value} is away"


def test_a_line_about_a_bug_has_its_trace() -> None:
    try:
        raise RuntimeError("a bug")
    except RuntimeError:
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "failed", (), sys.exc_info())
    assert "RuntimeError: a bug" in json.loads(JSONLines().format(record))["exception"]


EVIL = "\x1b[31mred\x1b[0m\n2026-01-01 INFO forged \u202etitle"


def text_line_of(message: str, *arguments: object, exc_info: Any = None) -> str:
    record = logging.LogRecord(
        "stackroom.test", logging.WARNING, "x.py", 1, message, arguments, exc_info
    )
    return TextLines("%(levelname)s %(name)s: %(message)s").format(record)


@pytest.mark.row("N10")
def test_no_text_in_a_log_line_controls_the_terminal_or_forges_a_line() -> None:
    assert (
        text_line_of("row %s", EVIL)
        == "WARNING stackroom.test: row red 2026-01-01 INFO forged title"
    )
    assert line_of("row %s", EVIL, target=EVIL)["target"] == "red\n2026-01-01 INFO forged title"


def test_the_lines_of_an_exception_are_indented() -> None:
    try:
        raise RuntimeError(EVIL)
    except RuntimeError:
        told = text_line_of("failed", exc_info=sys.exc_info())
    first, *others = told.splitlines()
    assert first == "WARNING stackroom.test: failed"
    assert others
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in told
    assert "\u202e" not in told
