"""The log as JSON: every line is one object, whatever is in it."""

import json
import logging
import sys
from pathlib import Path

import pytest

from pinakes.serve.logs import JSONLines


def line_of(message: str, *arguments: object, **fields: object) -> dict[str, object]:
    record = logging.LogRecord("pinakes.test", logging.WARNING, "x.py", 1, message, arguments, None)
    record.pinakes = fields
    line = JSONLines().format(record)
    assert "\n" not in line
    return dict(json.loads(line))


def test_a_line_has_its_message_and_its_fields() -> None:
    line = line_of("%s is söft", "snow", user="ada", ms=1.5)
    assert (line["level"], line["logger"], line["message"]) == ("WARNING", "pinakes.test", "snow is söft")
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
