"""A table fed by a schedule: the job that refreshes one catalogue."""

from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N1")


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAG_STRICT_OFFLINE", "1")
    return home


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text("id,title\n1,Heat\n2,Ran\n")
    return path


def titles(run: Run) -> list[str]:
    return sorted(
        hit["title"] for hit in run("search films 'heat ran ikiru' --json").json["results"]
    )


def test_a_catalogue_is_refreshed_by_a_job_of_its_own(home: Path, films: Path, run: Run) -> None:
    run(f"add {films} --yes --no-embed")
    assert "refresh:films" not in [job["job_id"] for job in run("job list --json").json["jobs"]]
    assert run("job show refresh:films --json").json["jobs"][0]["schedule"] == "manual"
    scheduled = run("job schedule refresh:films 6h --json")
    assert scheduled.json["job"]["schedule"] == "6h"
    assert "refresh:films" in run("job list").out
    films.write_text("id,title\n1,Heat\n3,Ikiru\n")
    ran = run("job run refresh:films")
    assert ran.code == 0, ran.err
    assert titles(run) == ["Heat", "Ikiru"]
    assert run("job history refresh:films --json").json["runs"][0]["state"] == "done"
