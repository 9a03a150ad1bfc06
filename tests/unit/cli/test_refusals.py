"""A command that cannot be done says why, and what would be right, on one channel with its code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError, NotFoundError

pytestmark = pytest.mark.row("N3")

USAGE, INPUT, NOT_FOUND = 2, InputError.exit_code, NotFoundError.exit_code

REFUSED: list[tuple[str, int, str]] = [
    ("search anmie x", NOT_FOUND, "did you mean 'anime'?"),
    ("search anime x --yaer 2000", INPUT, "did you mean 'year'?"),
    ("search anime x --limit 51", USAGE, "51"),
    ("search", USAGE, "Missing argument"),
    ("search anime", INPUT, 'search it for: stackroom search anime "WORDS"'),
    ("search giant robots", NOT_FOUND, 'in quotes: stackroom search "giant robots"'),
    ("search giant robots fight", INPUT, 'stackroom search "giant robots fight"'),
    ("search anime giant robots", INPUT, 'stackroom search anime "giant robots"'),
    ("search ' '", INPUT, "the query is empty"),
    ("exprot", USAGE, "no command 'exprot' (did you mean 'export'?)"),
    ("get anime 'qqqqqq zzzzzz'", NOT_FOUND, "nothing in 'anime' has the id or title"),
    ("recommend anime", INPUT, "'likes' and 'wishes' are empty"),
    ("serve --tools seeds", USAGE, "'seeds' is not one of 'auto', 'own', 'generic', 'all'"),
    ("install emacs", USAGE, "emacs"),
    ("install chatgpt", INPUT, "URL https://…/mcp of your server"),
    ("install cursor --token x", INPUT, "--token is for --url only"),
    ("install cursor films --url https://x.example", INPUT, "--url takes no catalogues"),
    ("install cursor films", NOT_FOUND, "no catalogue 'films'"),
    ("browse anime --field tagz", INPUT, "did you mean 'tags'?"),
    ("browse anime --by yaer", INPUT, "did you mean 'year'?"),
    ("browse anime tags", INPUT, "a query of several words goes in quotes"),
    ("browse anime --of title", INPUT, "is text, not a number"),
    ("browse anime --by year/0", INPUT, "must be a number above 0"),
    ("browse anime --by type --by year,tags", INPUT, "2 or fewer"),
    ("browse anime --by type --yaer 1999", INPUT, "did you mean 'year'?"),
    ("explain anime x mal-0", NOT_FOUND, "has the id or title 'mal-0'"),
    ("explain anime x mal-1 mal-2", INPUT, "'mal-2' is too much"),
    ("explain anime ' '", INPUT, "the query is empty"),
    ("export anime --to films.doc", INPUT, "must end in one of .csv"),
    ("eval anmie", NOT_FOUND, "no catalogue 'anmie' (did you mean 'anime'?)"),
    ("eval anime --split dev", INPUT, "and --split is for a folder of judged questions"),
    ("eval . --tune", INPUT, ". is a folder, and --tune is for a catalogue"),
    ("eval anime --golden none.toml", INPUT, "none.toml: cannot be read"),
    ("add nothing.jsonl --as anime --no-embed", INPUT, "no such file"),
    ("add here.csv --as anmie --no-embed", NOT_FOUND, "did you mean 'anime'?"),
    ("add here.csv --as anime --spec x.toml", INPUT, "not both"),
    ("add here.csv --name anime --no-embed --yes", INPUT, "choose another --name"),
    ("add here.csv --records data --yes", INPUT, "--records is for JSON files only"),
    ("add here.csv --no-embed", INPUT, "stackroom spec infer"),
    ("add here.csv --no-embed --json", INPUT, "--yes"),
    ("add 'postgresql://me:h1dden@db/shop#film' --yes", INPUT, "as by psql's \\copy TABLE"),
    ("add s3://bucket/books", INPUT, "stackroom sync s3://bucket/books; for one of them"),
    ("spec show anmie", NOT_FOUND, "did you mean 'anime'?"),
    ("publish anime ' '", INPUT, "the LanceDB database is missing"),
    ("publish anime ftp://host/x", INPUT, "has the scheme 'ftp', which is not supported"),
    ("access restrict anmie", NOT_FOUND, "no accounts here yet"),
    ("access open anime", NOT_FOUND, "no accounts here yet"),
    ("audit tail -n 0", INPUT, "must be 1 or more"),
    ("audit tail --outcome good", INPUT, "must be one of ok"),
    ("audit verify", NOT_FOUND, "no accounts here yet"),
    ("user add", USAGE, "Missing argument"),
    ("user add '\udcff'", INPUT, "must be text"),
    *(
        (f"user {command}", NOT_FOUND, "stackroom user add")
        for command in ("passwd ada", "show ada", "disable ada", "grant ada ServerAdmin")
    ),
    ("job output backup", NOT_FOUND, "backup"),
    ("backup --to s3://bucket/kept", INPUT, "s3://bucket/kept: back-ups are kept in a folder"),
    ("pack verify nothing --key 'no key'", INPUT, "neither a file nor a public key of minisign"),
    ("update anime", INPUT, "anime"),
    ("rollback anime", INPUT, "anime"),
    *(
        (f"init {words}", USAGE, "stackroom init NAME --from PLACE")
        for words in ("stars", "--from x", "--key x")
    ),
    ("new 2001", INPUT, "begin with a letter"),
    ("new Games", INPUT, "lower-case letters"),
    ("new papers", INPUT, "a catalogue package 'papers' is installed already"),
    ("new stackroom", INPUT, "'stackroom' is a Python module that is installed already"),
    ("new class", INPUT, "'class' cannot name a Python module"),
]


@pytest.mark.parametrize(("command", "code", "says"), REFUSED)
def test_a_command_that_cannot_be_done_says_why_and_changes_nothing(
    at_sample: Path,
    tmp_path: Path,
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    code: int,
    says: str,
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "here.csv").write_text("id,title\n1,Heat\n2,Ran\n")
    monkeypatch.chdir(folder)
    before = sorted(at_sample.rglob("*"))
    ran = run(command)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "h1dden" not in ran.err
    assert sorted(at_sample.rglob("*")) == before
    assert [path.name for path in folder.iterdir()] == ["here.csv"]


def test_a_restore_that_cannot_be_done_says_why(run: Callable[..., Any]) -> None:
    for command, code, says in (
        ("restore", NOT_FOUND, "there is no back-up; name its folder"),
        ("restore s3://bucket/kept", INPUT, "s3://bucket/kept: back-ups are kept in a folder"),
    ):
        ran = run(command)
        assert (ran.code, ran.out, says in ran.err) == (code, "", True)
