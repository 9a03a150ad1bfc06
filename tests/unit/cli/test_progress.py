"""Progress of a build: what is said where there is no terminal, and how fast it says a build is."""

import signal
import sys
from collections.abc import Iterator

import click
import pytest

from stackroom.cli.output import JSON
from stackroom.cli.progress import CLEARED, LINE_S, ProgressLine, build_progress, describe_step
from stackroom.ingest.pipeline import IngestReport
from support.terminals import Terminal

pytestmark = pytest.mark.row("N12")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("step", "elapsed_s", "said"),
    [
        (
            ("texts embedded", 5_120, 20_000),
            16.5,
            "5,120 of 20,000 texts embedded, 310/s, about 48 s left",
        ),
        (
            ("texts embedded", 64, 20_000),
            8.0,
            "64 of 20,000 texts embedded, 8/s, about 42 min left",
        ),
        (("texts embedded", 1, 90_000), 2.0, "1 of 90,000 texts embedded, 0.50/s, about 50 h left"),
        (("rows read", 700, None), 2.0, "700 rows read, 350/s"),
        (("rows read", 0, 100), 3.0, "0 of 100 rows read"),
    ],
)
def test_progress_is_said_with_the_rate_and_the_time_that_is_left(
    step: tuple[str, int, int | None], elapsed_s: float, said: str
) -> None:
    assert describe_step(*step, elapsed_s) == said


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as at a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_answered_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), build_progress("films"):
        signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == "stopping …\n"


def test_a_line_is_said_at_intervals_and_each_step_has_its_own_pace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    line = ProgressLine(label="films", monotonic=clock)
    for done in (0, 50, 100):
        line.show("rows read", done, 100)
        clock.now += LINE_S / 2
    line.show("texts embedded", 0, 80)
    clock.now += LINE_S
    line.show("texts embedded", 20, 80)
    line.hint("is for terminals")
    assert capsys.readouterr().err.splitlines() == [
        "films: 100 of 100 rows read, 20/s, about 1 s left",
        "films: 20 of 80 texts embedded, 4/s, about 15 s left",
    ]


def test_a_line_on_a_terminal_is_rewritten_and_taken_away_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    clock = Clock()
    line = ProgressLine(label="films", monotonic=clock)
    line.show("rows read", 0)
    clock.now += 1
    line.show("rows read", 5)
    line.say("search it")
    line.clear()
    assert sys.stderr.getvalue() == f"{CLEARED}films: 5 rows read, 5/s{CLEARED}search it\n{CLEARED}"  # type: ignore[attr-defined]


def test_that_it_can_be_searched_is_said_once_when_embedding_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with build_progress("films", total=3, when_searchable="search it now") as report:
        report(IngestReport(rows=3))
        assert capsys.readouterr().err == ""
        report(IngestReport(rows=3, to_embed=3))
        report(IngestReport(rows=3, to_embed=3, embedded=3))
    captured = capsys.readouterr()
    assert (captured.err, captured.out) == ("search it now\n", "")


def test_progress_is_hidden_where_json_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(click.Command("add"))
    context.meta[JSON] = True
    with context, build_progress("films", when_searchable="search it now") as report:
        report(IngestReport(rows=3, to_embed=3))
    assert capsys.readouterr() == ("", "")
