"""`logs://recent` and `logs://errors`: the last lines, without secrets and without end."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stackroom.admin import logs
from stackroom.admin.logs import LogRing, log_resources
from stackroom.gate.auditing import LONGEST_TEXT, REDACTED, redacted
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.serve.logs import CallLog
from stackroom.tools.toolbox import Toolbox

pytestmark = pytest.mark.row("Z11")

SECRET = "stk_t_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def log() -> logging.Logger:
    log = logging.Logger("stackroom.test")
    log.setLevel(logging.DEBUG)
    return log


@pytest.fixture
def ring(log: logging.Logger) -> Iterator[LogRing]:
    ring = LogRing(redact=redacted)
    log.addHandler(ring)
    yield ring
    ring.close()


@pytest.fixture
def read(ring: LogRing, behind_gate: Callable[..., Any]) -> Callable[[str], list[dict[str, Any]]]:
    caller = behind_gate([], log_resources(ring))
    return lambda uri: json.loads(caller.gate.read(LOCAL_USER, uri).text)["lines"]


def test_errors_are_kept_apart_and_for_longer(
    log: logging.Logger,
    read: Callable[[str], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log.error("the one problem")
    for number in range(logs.KEPT_LINES + 50):
        log.info("line %d", number)
    assert read("logs://recent")[0]["message"] == f"line {logs.KEPT_LINES + 49}"
    (error,) = read("logs://errors")
    assert (error["level"], error["logger"]) == ("ERROR", "stackroom.test")
    assert error["message"] == "the one problem"


def test_no_more_lines_are_kept_than_there_is_room_for(log: logging.Logger, ring: LogRing) -> None:
    for number in range(logs.KEPT_LINES * 2):
        log.error("x" * 2000 + " %d", number)
    assert len(ring.recent()) == logs.KEPT_LINES
    assert len(ring.errors()) == logs.KEPT_ERRORS
    assert max(len(line["message"]) for _number, line in ring.recent()) <= LONGEST_TEXT + 60


def test_secrets_are_taken_out(
    log: logging.Logger, read: Callable[[str], list[dict[str, Any]]]
) -> None:
    log.error(
        "%s failed",
        SECRET,
        extra={"stackroom": {"user": "ann", "token": "open sesame", "note": SECRET}},
    )
    (line,) = read("logs://errors")
    assert SECRET not in json.dumps(line)
    assert "open sesame" not in json.dumps(line)
    assert (line["user"], line["note"]) == ("ann", REDACTED)


def test_of_an_exception_its_kind_and_place_are_kept_and_not_what_it_says(
    log: logging.Logger, read: Callable[[str], list[dict[str, Any]]]
) -> None:
    try:
        raise ValueError("the text of a record")
    except ValueError:
        log.error("a request failed", exc_info=sys.exc_info())
    (line,) = read("logs://errors")
    assert line["problem"].startswith("ValueError at test_logs.py:")
    assert "the text of a record" not in json.dumps(line)


def test_a_line_that_cannot_be_made_fails_nobody(
    log: logging.Logger, ring: LogRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    log.error("%d", "no number")
    assert ring.recent() == []


@pytest.mark.row("Z14")
def test_the_lines_come_in_pages_that_new_lines_do_not_move(
    log: logging.Logger, ring: LogRing, behind_gate: Any
) -> None:
    gate = behind_gate([], log_resources(ring)).gate
    for number in range(300):
        log.info("line %d", number)
    seen: list[str] = []
    address = "logs://recent"
    while address:
        text = gate.read(LOCAL_USER, address).text
        assert len(text) <= 10_000
        page = json.loads(text)
        seen += [line["message"] for line in page["lines"]]
        log.info("meanwhile")
        assert page["process"] == os.getpid()
        address = f"logs://recent?cursor={page['cursor']}" if page["has_more"] else ""
    assert seen == [f"line {number}" for number in reversed(range(300))]


@pytest.mark.row("Z14")
def test_a_line_of_a_call_says_each_fact_once(ring: LogRing) -> None:
    logging.getLogger("stackroom.calls").addHandler(ring)
    logging.getLogger("stackroom.calls").setLevel(logging.INFO)
    gate = Gate(Toolbox([], log_resources(ring)), observers=[CallLog()])
    gate.read(LOCAL_USER, "logs://recent", via="stdio")
    (line,) = json.loads(gate.read(LOCAL_USER, "logs://recent").text)["lines"]
    logging.getLogger("stackroom.calls").removeHandler(ring)
    assert (line["operation"], line["target"], line["user"]) == (
        "resources/read",
        "logs://recent",
        "local",
    )
    assert "message" not in line
    assert json.dumps(line).count("logs://recent") == 1
