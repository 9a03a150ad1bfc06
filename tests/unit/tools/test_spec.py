"""Arguments as tools take them."""

from typing import Any, Literal

import pytest
from pydantic import ValidationError

from stackroom.generic import tools as generic
from stackroom.model.principal import Cost
from stackroom.text.analyser import MAX_CHARS
from stackroom.tools.spec import ToolParams
from stackroom_catalogues.music import shapes as music
from stackroom_catalogues.papers import tools as papers


class Params(ToolParams):
    """Arguments of every kind that could be taken for another."""

    limit: int = 10
    weight: float | None = None
    years: list[int] | None = None
    is_new: bool = False
    either: int | bool = 0
    fields: dict[str, Any] | None = None
    kind: Literal["TV", "Short film"] | None = None
    costs: list[Cost] | None = None


def taken(**arguments: Any) -> dict[str, Any]:
    return Params.model_validate(arguments).model_dump(exclude_unset=True)


@pytest.mark.parametrize("arguments", [{"limit": True}, {"weight": False}, {"years": [2015, True]}])
def test_true_and_false_are_no_numbers(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        taken(**arguments)
    (problem,) = refused.value.errors()
    assert problem["loc"] == tuple(arguments)
    assert problem["msg"] == "must be a number, not true or false"


def test_true_and_false_are_taken_where_they_are_wanted_and_numbers_as_before() -> None:
    assert taken(isNew=True, either=True, fields={"seen": True}) == {
        "is_new": True,
        "either": True,
        "fields": {"seen": True},
    }
    assert taken(limit="5", weight=1, years=[2015]) == {"limit": 5, "weight": 1.0, "years": [2015]}


@pytest.mark.parametrize("kind", ["tv", " TV ", "short_film", "SHORT-FILM", "shortfilm"])
def test_a_choice_is_taken_in_any_case_and_with_any_separator(kind: str) -> None:
    assert taken(kind=kind)["kind"] in ("TV", "Short film")
    assert taken(costs=[Cost.READ.upper(), Cost.READ]) == {"costs": [Cost.READ, Cost.READ]}


def test_another_value_than_the_choices_is_refused_as_it_is_written() -> None:
    with pytest.raises(ValidationError, match="input_value='Film'"):
        taken(kind="Film")


@pytest.mark.parametrize(
    ("params", "name", "others"),
    [
        (generic.BrowseParams, "search", {}),
        (music.GetParams, "about", {"query_type": "playlist"}),
    ],
)
def test_of_megabytes_of_words_the_beginning_is_taken(
    params: type[ToolParams], name: str, others: dict[str, Any]
) -> None:
    taken = params.model_validate({name: "winter sea " * 300_000, **others})
    assert len(getattr(taken, name)) <= MAX_CHARS
    assert getattr(taken, name).startswith("winter sea winter sea")


@pytest.mark.parametrize(
    "params", [generic.SearchParams, music.SearchMusicParams, papers.SearchPapersParams]
)
def test_a_blank_query_is_the_same_to_every_search_whatever_its_blanks(
    params: type[ToolParams],
) -> None:
    assert params.model_validate({"query": "  \n "}) == params.model_validate({"query": ""})
