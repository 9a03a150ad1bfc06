"""`stackroom explain`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError, NotFoundError

pytestmark = pytest.mark.row("N3")

Run = Callable[..., Any]


def test_a_record_that_is_found_has_its_rank_in_the_answer(at_sample: Path, run: Run) -> None:
    hits = run(["search", "anime", "space pirates", "--json"]).json["results"]
    told = run(["explain", "anime", "space pirates", hits[2]["id"], "--json"]).json
    assert (told["found"], told["rank"], told["tool"]) == (True, 3, "stackroom search")


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


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["x", "mal-0"], NotFoundError.exit_code, "has the id or title 'mal-0'"),
        (["x", "mal-1", "mal-2"], InputError.exit_code, "'mal-2' is too much"),
        (["x", "mal-1", "--yaer", "2000"], InputError.exit_code, "did you mean 'year'?"),
        ([" "], InputError.exit_code, "the query is empty"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_what_would_be_right(
    at_sample: Path, run: Run, arguments: list[str], code: int, says: str
) -> None:
    ran = run(["explain", "anime", *arguments])
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
