"""Schemas made small say what the full ones say."""

import json
from typing import Any

import jsonschema
import pytest

from stackroom.tools.spec import bare_common, brief_input, compact_schema
from stackroom_catalogues.anime.tools import (
    DetailsResult,
    RecommendAnimeParams,
    SearchAnimeParams,
    SearchAnimeResult,
)

ANIME = {
    "id": "a",
    "title": "A",
    "type": "TV",
    "episodes": 1,
    "year": None,
    "tags": [],
    "synopsis": None,
}
HIT = {**ANIME, "alternatives": [], "status": "FINISHED", "score": 0.5, "matchType": "fts"}
PAGE = {"results": [HIT], "totalMatches": 1, "searchMode": "hybrid", "degraded": None}

SAMPLES: list[tuple[Any, Any]] = [
    (SearchAnimeParams, {"query": "x"}),
    (SearchAnimeParams, {"query": "x", "limit": 51}),
    (SearchAnimeParams, {"query": "x", "limit": 0}),
    (SearchAnimeParams, {}),
    (SearchAnimeParams, {"query": "x", "filters": {"type": ["TV"], "tags": ["a"], "yearMin": 2}}),
    (SearchAnimeParams, {"query": "x", "filters": {"type": ["FILM"]}}),
    (SearchAnimeParams, {"query": "x", "filters": {"tags": [7]}}),
    (RecommendAnimeParams, {"titles": ["a"], "preferences": "x", "excludeTitles": ["b"]}),
    (RecommendAnimeParams, {"titles": ["a"] * 11}),
    (SearchAnimeResult, PAGE),
    (SearchAnimeResult, {**PAGE, "searchMode": "vector"}),
    (SearchAnimeResult, {**PAGE, "results": [{**HIT, "year": "2000"}]}),
    (SearchAnimeResult, {**PAGE, "results": [{key: HIT[key] for key in HIT if key != "year"}]}),
    (DetailsResult, {"anime": None, "suggestions": []}),
    (DetailsResult, {"anime": {}, "suggestions": []}),
]
MODELS = list(dict.fromkeys(model for model, _ in SAMPLES))
LEFT_TO_THE_GATE: list[tuple[Any, Any]] = [
    (SearchAnimeParams, {"query": "x", "qurey": "y"}),
    (SearchAnimeParams, {"query": "x", "filters": {"tags": ["t" * 301]}}),
    (RecommendAnimeParams, {"titles": [""]}),
]
"""What the full schema refuses and the small one lets pass, to be refused in words: unknown names
and odd lengths.
"""

LEFT_OUT: list[tuple[Any, Any]] = [
    (SearchAnimeParams, {"query": "x", "filters": None}),
    (SearchAnimeParams, {"query": "x", "filters": {"yearMin": None}}),
    (RecommendAnimeParams, {"titles": ["a"], "preferences": None}),
]
"""What the full schema accepts and the small one does not speak of: null for an argument that can
be left out.
"""


def full(model: Any) -> dict[str, Any]:
    mode = "validation" if model.__name__.endswith("Params") else "serialization"
    schema: dict[str, Any] = model.model_json_schema(mode=mode)
    return schema


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(("model", "value"), SAMPLES, ids=lambda value: str(value)[:50])
def test_the_small_schema_accepts_just_what_the_full_one_accepts(model: Any, value: Any) -> None:
    assert accepts(compact_schema(full(model)), value) == accepts(full(model), value)


@pytest.mark.parametrize(("model", "value"), LEFT_TO_THE_GATE, ids=str)
def test_what_only_the_gate_refuses_is_refused_there(model: Any, value: Any) -> None:
    assert accepts(compact_schema(full(model)), value)
    with pytest.raises(ValueError, match="validation error"):
        model.model_validate(value)


@pytest.mark.parametrize(("model", "value"), LEFT_OUT, ids=str)
def test_null_for_an_argument_that_can_be_left_out_is_accepted_all_the_same(
    model: Any, value: Any
) -> None:
    assert not accepts(compact_schema(full(model)), value)
    model.model_validate(value)


@pytest.mark.parametrize("model", MODELS)
def test_a_small_schema_is_a_valid_schema_without_references_and_smaller(model: Any) -> None:
    small = compact_schema(full(model))
    jsonschema.Draft202012Validator.check_schema(small)
    text = json.dumps(small)
    assert "$ref" not in text
    assert "$defs" not in text
    assert len(text) < len(json.dumps(full(model)))
    assert small["type"] == "object"


def test_a_field_may_be_called_like_a_word_of_the_schema_language() -> None:
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"title": "Title", "type": "string"},
            "properties": {"type": "integer"},
        },
    }
    assert compact_schema(schema) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "properties": {"type": "integer"}},
    }


def test_a_brief_input_schema_leaves_out_obvious_bounds_and_keeps_the_upper_ones() -> None:
    limit = {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
    skip = {"type": "integer", "minimum": 0, "default": 0}
    named_like_a_keyword = {"minimum": {"type": "string"}, "default": {"type": "string"}}
    many = {"type": "array", "items": {"type": "string"}, "maxItems": 1000, "description": "Names"}
    top = {"type": "integer", "maximum": 9, "description": "Most results"}
    properties = {"limit": limit, "skip": skip, "many": many, "top": top, **named_like_a_keyword}
    assert brief_input({"type": "object", "properties": properties}) == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "maximum": 50, "default": 10},
            "skip": {"type": "integer"},
            "many": {"type": "array", "items": {"type": "string"}, "description": "Names"},
            "top": {"type": "integer", "maximum": 9},
            **named_like_a_keyword,
        },
    }


def test_arguments_that_every_tool_has_come_last_with_their_type_alone() -> None:
    budget = {"type": "integer", "minimum": 100, "description": "at most"}
    schema = bare_common(
        {"type": "object", "properties": {"max_tokens": budget, "query": {"type": "string"}}}
    )
    assert list(schema["properties"].items()) == [
        ("query", {"type": "string"}),
        ("max_tokens", {"type": "integer"}),
    ]
