"""`jobs.query`, `jobs.action` and `jobs://…/output`, through the gate."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackroom.admin.jobs import jobs_resources, jobs_tools
from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import UnknownResourceError
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import JobContext, JobSpec, RunEnd, RunReport, RunState
from stackroom.model.principal import Action, Principal
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import Toolbox
from support.texts import values_missing_from_text

pytestmark = pytest.mark.row("Z9")

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ADA = Principal(name="ada", actions=frozenset({Action.SERVER_ADMIN}))


def do_nothing(_context: JobContext) -> None:
    pass


JOBS = [
    JobSpec(name="backup", description="Copy it.", schedule="0 3 * * *", body=do_nothing),
    JobSpec(name="rescan", description="Look again.", schedule="1h", body=do_nothing),
]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[JobBoard]:
    with closing(ControlDatabase.open(f"sqlite:///{tmp_path / 'control.sqlite'}")) as database:
        yield JobBoard(database, JOBS, now=lambda: NOON)


@pytest.fixture
def gate(board: JobBoard) -> Gate:
    office = Office(open_board=lambda: board)
    return Gate(Toolbox(jobs_tools(board), jobs_resources(board)), office=office)


def query(gate: Gate, query_type: str, **arguments: Any) -> dict[str, Any]:
    return structured(gate.call(ADA, "jobs.query", {"query_type": query_type, **arguments}))


def structured(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    assert answer.structured is not None
    assert values_missing_from_text(answer.structured, answer.text) == []
    return answer.structured


def finish(board: JobBoard, name: str, report: RunReport, end: RunEnd) -> int:
    run = next((run for run in board.list_runs(name)[0] if run.is_live), None) or board.trigger(
        name, by="ada"
    )
    board.runs.start(run.id, holder="me")
    board.runs.end(run.id, report, end, holder="me")
    return run.id


def test_history_is_of_one_job_or_of_all_newest_first_and_paged(
    gate: Gate, board: JobBoard
) -> None:
    done, failed = (
        RunEnd(state=RunState.DONE),
        RunEnd(state=RunState.FAILED, error="the disk is full"),
    )
    for name, end in (("backup", done), ("rescan", done), ("backup", failed)):
        finish(board, name, RunReport(done=1, total=2, message="half"), end)
    everything = query(gate, "history")
    assert [(run["run_id"], run["job_id"]) for run in everything["runs"]] == [
        (3, "backup"),
        (2, "rescan"),
        (1, "backup"),
    ]
    page = query(gate, "history", job_id="backup", limit=1)
    assert (page["total"], page["has_more"]) == (2, True)
    assert (page["runs"][0]["error"], page["runs"][0]["progress"]) == (
        "the disk is full",
        "1 of 2, half",
    )
    assert query(gate, "history", job_id="backup", limit=1, offset=1)["has_more"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "says"),
    [
        ("jobs.query", {"query_type": "get"}, "invalid_input", "'job_id' is missing"),
        (
            "jobs.query",
            {"query_type": "get", "job_id": "bakcup"},
            "not_found",
            "did you mean 'backup'?",
        ),
        (
            "jobs.query",
            {"query_type": "history", "job_id": "x"},
            "not_found",
            "jobs: backup, rescan",
        ),
        (
            "jobs.action",
            {"action": "trigger", "job_id": "bakcup"},
            "not_found",
            "did you mean 'backup'?",
        ),
        (
            "jobs.action",
            {"action": "schedule", "job_id": "backup"},
            "invalid_input",
            "'schedule' is missing",
        ),
        (
            "jobs.action",
            {"action": "schedule", "job_id": "backup", "schedule": "61 * * * *"},
            "invalid_input",
            "bad minute; write an interval such as 30m",
        ),
        (
            "jobs.action",
            {"action": "trigger", "job_id": "backup", "schedule": "1h"},
            "invalid_input",
            "'schedule' is for 'schedule', not for 'trigger'",
        ),
    ],
)
def test_what_is_asked_wrongly_is_told_what_would_be_right(
    gate: Gate, tool: str, arguments: dict[str, Any], code: str, says: str
) -> None:
    answer = gate.call(ADA, tool, arguments)
    assert (answer.is_error, answer.error_code) == (True, code)
    assert says in answer.text


@pytest.mark.row("Z11")
def test_the_output_of_the_last_run_stands_at_the_jobs_address(gate: Gate, board: JobBoard) -> None:
    assert gate.list_resources(ADA).entries == []
    assert gate.read(ADA, "jobs://backup/output").text == "backup has not run yet\n"
    first = finish(board, "backup", RunReport(output="copied films\n"), RunEnd(state=RunState.DONE))
    end = RunEnd(state=RunState.FAILED, error="the disk is full")
    finish(board, "backup", RunReport(output="copied notes\n", output_dropped=9), end)
    content = gate.read(ADA, "jobs://backup/output")
    assert content.mime_type == "text/plain"
    assert (content.text or "").splitlines() == [
        "backup, run 2: failed; started 2026-11-15 12:00:00Z, ended 2026-11-15 12:00:00Z",
        "error: the disk is full",
        "(9 bytes were written before what follows, and are not kept)",
        "",
        "copied notes",
    ]
    assert "copied films" in (gate.read(ADA, f"jobs://{first}/output").text or "")
    assert [entry.uri for entry in gate.list_resources(ADA).entries] == ["jobs://backup/output"]


@pytest.mark.row("Z11")
@pytest.mark.parametrize(
    "rest",
    ["", "backup", "backup/", "no/output", "/output", "99/output", "../output", "%00/output"],
)
def test_where_no_output_is_nothing_is_found(gate: Gate, rest: str) -> None:
    with pytest.raises(UnknownResourceError):
        gate.read(ADA, f"jobs://{rest}")


@pytest.mark.row("N8")
def test_the_runs_of_a_budget_are_paged_by_the_offset_that_the_note_names(
    gate: Gate, board: JobBoard
) -> None:
    for number in range(40):
        finish(board, "backup", RunReport(message=f"copy {number}"), RunEnd(state=RunState.DONE))
    seen: list[int] = []
    page = query(gate, "history", max_tokens=400)
    while page["has_more"]:
        assert len(json.dumps(page)) <= 1_600
        seen += [run["run_id"] for run in page["runs"]]
        assert page["notes"][-1].endswith(f"the rest with offset {len(seen)}")
        page = query(gate, "history", max_tokens=400, offset=len(seen))
    seen += [run["run_id"] for run in page["runs"]]
    assert seen == [run["run_id"] for run in query(gate, "history", limit=100)["runs"]]
    assert len(json.dumps(query(gate, "history"))) <= 10_000
