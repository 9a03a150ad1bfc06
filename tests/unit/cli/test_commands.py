"""Commands on the sample library: tables for people, JSON for programs, exit codes that mean
something.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from stackroom.background.background import Background, Task, TaskContext, status_task
from stackroom.errors import NotFoundError
from support.loopback import EmbeddingServer
from support.terminals import Run


def test_the_catalogues_are_listed_with_their_sizes(at_sample: Path, run: Run) -> None:
    (anime,) = run("list --json").json
    assert (anime["name"], anime["spec"], anime["model"]) == ("anime", "anime", None)
    assert anime["records"] >= 300
    assert "anime" in run("list").out


def test_an_empty_library_says_how_to_fill_it(home: Path, run: Run) -> None:
    assert "stackroom init" in run("list").out
    served = run("serve")
    assert served.code == NotFoundError.exit_code
    assert "stackroom init" in served.err


def test_a_search_with_bytes_that_are_no_text_is_answered(at_sample: Path, run: Run) -> None:
    assert run("search anime 'mushishi \udcff' --json").code == 0


@pytest.mark.row("A8")
def test_get_shows_a_record_by_id_or_by_a_misspelt_title(at_sample: Path, run: Run) -> None:
    assert run("get anime mal-1 --json").json["title"] == "Cowboy Bebop"
    assert run("get anime 'cowbow bebop' --json").json["id"] == "mal-1"
    assert "Cowboy Bebop" in run("get anime mal-1").out


@pytest.mark.model
@pytest.mark.row("A6")
def test_recommend_prints_what_it_understood(
    sample_home: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(sample_home))
    ask = "recommend anime 'Cowbow Bebop' --wishes 'post-2000, not horror' --exclude Planetes"
    answer = run(f"{ask} --type TV --limit 5 --json").json
    assert len(answer["results"]) == 5
    assert {one["fields"]["type"] for one in answer["results"]} == {"TV"}
    assert "Planetes" not in {one["title"] for one in answer["results"]}
    assert (
        "'Cowbow Bebop' was taken for 'Cowboy Bebop' by another spelling, confidence 0."
        in answer["notes"][0]
    )
    assert "'post-2000': year ≥ 2001" in run(ask).out
    near = run("similar 'Cowboy Bebop' --limit 2 --json").json["results"]
    assert [one["catalogue"] for one in near] == ["anime", "anime"]


@pytest.mark.row("N23")
def test_records_of_any_table_are_recommended_with_wishes_on_its_fields(
    home: Path, run: Run, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in embedding_server.environment().items():
        monkeypatch.setenv(variable, value)
    kinds, words = ("undead", "giant", "beast"), ("grave", "stones", "forest")
    rows = [f"Monster {n},{kinds[n % 3]},{n},It is in the {words[n % 3]}" for n in range(1, 25)]
    (home / "monsters.csv").write_text("\n".join(["name,type,level,story", *rows]))
    assert run(f"add {home / 'monsters.csv'} --yes").code == 0
    answer = run("recommend monsters 'Monster 3' --wishes 'level under 10, not undead' --json").json
    assert answer["results"]
    assert all(
        one["fields"]["level"] < 10 and one["fields"]["type"] != "undead"
        for one in answer["results"]
    )


def test_the_doctor_lists_the_tasks_of_a_running_server(home: Path, run: Run) -> None:
    background = Background()
    background.add(Task(name="sync", description="Syncs.", run=lambda _context: "3 synced"))
    background.start()
    assert background.wait_for("sync", runs=1, timeout_s=10.0)
    status_task(background, home).run(TaskContext())
    background.stop()
    (task,) = [finding for finding in run("doctor --json").json if finding["what"] == "task sync"]
    assert task["ok"]
    assert re.fullmatch(r"waiting; last done .* UTC: 3 synced \(.*, process \d+\)", task["found"])


@pytest.mark.model
def test_the_models_are_listed_and_checked(
    sample_home: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(sample_home))
    local, other = run("model list --json").json
    assert other["model"] == "granite-embedding-30m-english"
    graph = local.pop("graph")
    assert local == {"model": "all-MiniLM-L6-v2", "where": "local", "dimension": 384, "ready": True}
    assert graph in {"8 bits", "32 bits"}
    assert "works" in run("model check").out


@pytest.mark.row("A12")
def test_an_endpoint_that_does_not_answer_is_listed_as_not_ready(
    home: Path, embedding_server: Any, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    for name, value in embedding_server.environment().items():
        monkeypatch.setenv(name, value)
    embedding_server.mood = "500"
    remote = run("model list --json").json[-1]
    assert (remote["where"], remote["ready"]) == (embedding_server.url, False)


@pytest.mark.row("N16")
def test_what_waits_for_vectors_is_embedded_by_a_command_and_counted(
    home: Path,
    embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
    tmp_path: Path,
) -> None:
    for name, value in embedding_server.environment().items():
        monkeypatch.setenv(name, value)
    table = tmp_path / "films.csv"
    rows = [f"Film {number},a robbery in city {number}" for number in range(40)]
    table.write_text("\n".join(["name,story", *rows]))
    assert run(f"add {table} --name films --yes --no-embed").code == 0
    assert run("embed films --status --json").json == {"waiting": 40}
    assert run("embed films --json").json == {"embedded": 40, "waiting": 0}
    assert (home / "catalogues" / "films" / "calibration.json").is_file()
    again = run("embed films")
    assert (again.code, again.out.splitlines()) == (
        0,
        ["films: 0 texts embedded here", "0 texts wait for a vector"],
    )
    assert "no catalogue 'filmz'" in run("embed filmz").err


@pytest.mark.row("N1")
def test_the_table_has_the_groups_the_figures_and_the_records_at_the_ends(
    at_sample: Path, run: Run
) -> None:
    shown = run("browse anime --by year/decade,type --of episodes --sort sum --limit 2").out
    assert "305 records" in shown
    assert "Doraemon (1979) [anime/mal-2471]" in shown
    heading, first, *_rest = [
        line.split() for line in shown.splitlines() if line.startswith(("year", "1970s", "2000s"))
    ]
    assert heading == ["year", "type", "count", "min", "max", "mean", "median", "sum"]
    assert first[:3] == ["2000s", "TV", "71"]
    assert "2 of 19 groups; more with --limit" in shown


@pytest.mark.row("N3")
@pytest.mark.parametrize(
    "order",
    [("mal-1", "--year", "2010.."), ("--year", "2010..", "mal-1"), ("--year=2010..", "mal-1")],
)
def test_a_record_that_is_not_found_is_told_why(
    at_sample: Path, run: Run, order: tuple[str, ...]
) -> None:
    told = run(["explain", "anime", "Cowboy Bebop", *order])
    assert "not found: condition" in told.out
    assert "leaves it out: it has 1998" in told.out
    assert "otherwise it would be number 1" in told.out
