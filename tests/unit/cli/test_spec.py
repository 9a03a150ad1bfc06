"""`stackroom spec`: proposing, checking and showing what a catalogue is."""

from pathlib import Path

import pytest

from stackroom.catalogue.compiler import load_spec
from stackroom.errors import InputError, NotFoundError, SpecError, UnavailableError
from support.terminals import Run

pytestmark = pytest.mark.row("N1")

FILMS = (
    "Title,Genres,Year\n"
    "Heat,Crime;Drama,1995\n"
    "Alien,Horror;Sci-Fi,1979\n"
    "Aliens,Sci-Fi;Action,1986\n"
)


@pytest.fixture(autouse=True)
def at_nothing(tmp_path: Path) -> Path:
    """A folder with a table."""
    (tmp_path / "My Films.csv").write_text(FILMS)
    return tmp_path


def test_a_spec_is_printed_and_can_be_written_checked_and_built_with(
    at_nothing: Path, run: Run
) -> None:
    films, spec = at_nothing / "My Films.csv", at_nothing / "films.toml"
    printed = run(f"spec infer '{films}'").out
    written = run(f"spec infer '{films}' --output {spec}")
    assert spec.read_text() == printed
    assert f"--spec {spec}" in written.out
    assert load_spec(spec).spec.name == "my-films"
    checked = run(f"spec check {spec}")
    assert checked.out.startswith(
        "ok: 'my-films', titled by 'title': 3 fields, 2 searched, 2 filtered by, 1 browsed"
    )
    built = run(f"add '{films}' --spec {spec} --no-embed --json").json
    assert (built["catalogue"], built["written"]) == ("my-films", 3)
    assert run("spec show my-films").out == printed


def test_a_spec_is_json_for_programs(at_nothing: Path, run: Run) -> None:
    found = run(f"spec infer '{at_nothing}/My Films.csv' --name films --json").json
    assert [field["name"] for field in found["fields"]] == ["title", "genres", "year"]
    assert all(field["reason"] for field in found["fields"])
    assert found["declaration"].startswith("#")
    (note,) = found["notes"]
    assert note == "ids are made of 'Title'"


def test_a_file_that_is_there_is_not_written_over(at_nothing: Path, run: Run) -> None:
    there = at_nothing / "films.toml"
    there.write_text("mine")
    ran = run(f"spec infer '{at_nothing}/My Films.csv' --output {there}")
    assert (ran.code, there.read_text()) == (InputError.exit_code, "mine")
    ran = run(f"spec infer '{at_nothing}/My Films.csv' --output {at_nothing / 'no' / 'x.toml'}")
    assert (ran.code, "cannot be written" in ran.err) == (InputError.exit_code, True)


def test_every_problem_of_a_spec_is_named_and_the_exit_code_says_so(
    at_nothing: Path, run: Run
) -> None:
    bad = at_nothing / "bad.toml"
    bad.write_text(
        'name = "x"\ntitle = "X"\nsummary = "X"\n[fields.a]\ntype = "int"\nsearch = true\nfacet ='
        " true\n"
    )
    ran = run(f"spec check {bad}")
    assert (ran.code, ran.out) == (SpecError.exit_code, "")
    for problem in ("cannot be searched", "has no facets", 'no field has role = "title"'):
        assert problem in ran.err


def test_no_provider_is_asked_for_a_spec_where_the_network_is_not_to_be_used(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_STRICT_OFFLINE", "1")
    ran = run("spec infer arxiv:all:attention")
    assert (ran.code, ran.out) == (UnavailableError.exit_code, "")
    assert "offline" in ran.err


def test_the_spec_of_a_built_in_catalogue_is_shown(run: Run) -> None:
    assert 'name = "anime"' in run("spec show anime").out
    shown = run("spec show papers --json").json
    assert (shown["name"], shown["spec"]) == ("papers", "papers")
    ran = run("spec show anmie")
    assert ran.code == NotFoundError.exit_code
    assert "did you mean 'anime'?" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("blank.csv", "a,b\n,\nn/a,\n", "no column with a value"),
        ("broken.jsonl", "{broken\n{too\n", "no row can be read; line 1"),
        ("list.json", "[]", "no rows"),
    ],
)
def test_a_table_that_cannot_be_a_catalogue_is_refused_with_its_name(
    at_nothing: Path, run: Run, name: str, content: str, says: str
) -> None:
    (at_nothing / name).write_text(content)
    ran = run(f"spec infer {at_nothing / name}")
    assert (ran.code, ran.out) == (InputError.exit_code, "")
    assert says in ran.err
    assert name in ran.err
