"""Explanations of an answer: why a record has its rank, or which condition or cut keeps it out.

The tool that is asked decides what is found: it declares its path, which is run again for the record; one that
recommends declares how it places a record.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from pydantic import Field

from stackroom.catalogue.spec import CatalogueSpec, texts_of
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.generic.shapes import StatedId
from stackroom.model.hits import Evidence, Why
from stackroom.model.principal import Principal
from stackroom.model.record import Key, Record
from stackroom.model.scope import (
    KEY_FIELD,
    KIND_FIELD,
    PUBLIC,
    WORDS_FIELD,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
)
from stackroom.recommend.recommender import Placing
from stackroom.search.ranked import OF_ONE_SERIES, KeyedRecord, Ranked
from stackroom.search.standing import RankIn, Standing, find_standing
from stackroom.search.values import Label, adult_conditions
from stackroom.shelf.terms import meets, term_of, text_tokens
from stackroom.text.preference_pieces import describe_effect
from stackroom.tools.catalogue import CatalogueView, FoundRecord, address_of
from stackroom.tools.merge import SearchPath, ShownHits
from stackroom.tools.spec import DECIMALS, GenericParams, GenericResult, ToolSpec, rounded_parts, validate_arguments
from stackroom.tools.toolbox import plain_names

SHOWN_VALUES = 3
FILTER = "filters."
SERIES_BOUND = f"at most {OF_ONE_SERIES} of one series are among every ten, so it was put off behind others"


class Cut(StrEnum):
    """The reason why a record is not in an answer."""

    CONDITION = "condition"
    """It does not meet a condition of the search."""
    DEPTH = "depth"
    """No arm ranks it among the first that are looked at."""
    TOOL = "tool"
    """A rule of the tool itself leaves it out."""
    EVIDENCE = "evidence"
    """Nothing answers the query, and it is not among the few nearest that are shown."""
    LIMIT = "limit"
    """It is ranked below the last record that is shown."""
    SERIES = "series"
    """Others of its series are shown, and it is put off behind other records."""
    NAMED = "named"
    """It is one of the records that recommendations were asked for with."""


class RankResult(GenericResult):
    """A rank in one ranking of so many records, and the score there."""

    rank: int | None
    score: float | None
    of: int


class ExplainResult(GenericResult):
    """The place of a record in the answer, or what keeps it out; parts that add up to its score and to its order.

    Where it does not meet a condition, its ranks and scores are those without the condition.
    """

    id: str
    title: str
    kind: str
    tool: str
    found: bool
    rank: int | None
    page: int | None
    cut: Cut | None
    score: float
    match: str | None
    strength: dict[str, float]
    order: dict[str, float]
    parts: dict[str, float]
    words: RankResult
    meaning: RankResult
    whole: RankResult
    terms: dict[str, bool]
    because: list[str]


def explain_record(path: SearchPath, record: Record, *, tool: str) -> ExplainResult:
    """Return why a record has its place in what a tool shows, or why it is not in it."""
    found = _keyed(path, record)
    conditions = path.scope.all_conditions()
    failed = [condition for condition in conditions if not meets(record, condition, found.spec, key=found.key)]
    scope = _without(path.scope, failed)
    ranked = path.rank(scope)
    shown = path.show(ranked)
    place = next((place for place, key in enumerate(shown.keys, start=1) if key == found.key), None)
    standing = find_standing(path.searcher, ranked, found, raised=shown.raised.get(found.key))
    rank = None if failed else place
    cut, sentence = (None, "") if place else _cut(path, ranked, shown, standing, found.key)
    reasons = [sentence]
    if failed:
        reasons = [*(_left_out(path.label, found, condition) for condition in failed), _otherwise(place, sentence)]
    return ExplainResult(
        id=address_of(path.view.name, record.id),
        title=found.spec.title_of(record),
        kind=record.kind,
        tool=tool,
        found=rank is not None,
        rank=rank,
        page=None if rank is None else (rank - 1) // path.page + 1,
        cut=Cut.CONDITION if failed else cut,
        terms=_terms(ranked, found),
        because=[reason for reason in (*reasons, *_context(path, ranked, standing, found, rank)) if reason],
        **_measured(standing),
    )


def _measured(standing: Standing) -> dict[str, Any]:
    return {
        "score": round(standing.strength, DECIMALS),
        "match": standing.match_type,
        "strength": rounded_parts(standing.why.strength),
        "order": rounded_parts(standing.why.order),
        "parts": {name: round(value, DECIMALS) for name, value in standing.reasons.items()},
        "words": standing.words.plain(),
        "meaning": standing.meaning.plain(),
        "whole": standing.whole.plain(),
    }


def _without(scope: Scope, failed: Iterable[Condition]) -> Scope:
    left_out = list(failed)
    return Scope(
        conditions=tuple(condition for condition in scope.conditions if condition not in left_out),
        visibility=scope.visibility,
    )


def _otherwise(place: int | None, sentence: str) -> str:
    """Return what would be without the conditions that a record does not meet."""
    return f"otherwise it would be number {place}" if place else f"otherwise it would be out all the same: {sentence}"


def _terms(ranked: Ranked, found: KeyedRecord) -> dict[str, bool]:
    here = set(text_tokens(found.record, found.spec.searched_fields))
    return {term: term in here for term, _ in ranked.trace.query.terms.terms}


def _left_out(label_of: Label, found: KeyedRecord, condition: Condition) -> str:
    """Return a sentence about a condition that a record does not meet, with the value it has."""
    record, spec = found.record, found.spec
    if condition.field == KEY_FIELD:
        return "it lies outside of the area of the map"
    if condition.field == KIND_FIELD:
        return _left_out_by_kind(spec, record, condition)
    if condition in adult_conditions(spec):
        return "adult records are found only when a search asks for them, as with the filter 'adult'"
    label = label_of(condition)
    name = f"the filter '{label.removeprefix(FILTER)}'" if label.startswith(FILTER) else f"'{label}'"
    if condition.field == WORDS_FIELD and not isinstance(condition, AnyOf | NoneOf):
        return f"{name} leaves it out: it lacks {', '.join(_unmet(found, condition))}"
    return f"{name} leaves it out: it has {_values(found, condition) or 'no value'}"


def _left_out_by_kind(spec: CatalogueSpec, record: Record, condition: Condition) -> str:
    hidden = spec.kinds_hidden_from_search
    if isinstance(condition, NoneOf) and condition.values == hidden:
        return f"records of the kind '{record.kind}' are found only when 'filters.kind' asks for them"
    return f"the filter 'kind' leaves it out: it has {record.kind}"


def _unmet(found: KeyedRecord, condition: Condition) -> list[str]:
    here = set(text_tokens(found.record, found.spec.searched_fields))
    return [value for value in getattr(condition, "values", ()) if value not in here]


def _values(found: KeyedRecord, condition: Condition) -> str:
    """Return the values of a record that a condition is about; of a negated one, those that it excludes."""
    if condition.field == WORDS_FIELD:
        return ", ".join(value for value in getattr(condition, "values", ()) if value not in _unmet(found, condition))
    names = condition.fields if isinstance(condition, Range) else [condition.field]
    values = [text for name in names for text in texts_of(found.record.get(name))]
    if isinstance(condition, NoneOf):
        excluded = {term_of(value) for value in condition.values}
        values = [value for value in values if term_of(value) in excluded]
    return ", ".join(values[:SHOWN_VALUES])


def _cut(path: SearchPath, ranked: Ranked, shown: ShownHits, standing: Standing, key: Key) -> tuple[Cut, str]:
    """Return which cut a record in scope is below, and a sentence that says so."""
    if reason := shown.left_out.get(key):
        return Cut.TOOL, reason
    place, count = standing.whole.rank, len(shown.keys)
    if place is None:
        return Cut.DEPTH, "no part of the search looks at it: it is too far down by words and by meaning"
    if shown.evidence is Evidence.NONE and place > count:
        nearest = f", so only the nearest {count} are shown" if count else ""
        return Cut.EVIDENCE, f"nothing answers the query{nearest}; it is number {place}"
    if place > path.limit or not ranked.has_series:
        return Cut.LIMIT, f"it is number {place}, and {path.limit} are shown at most"
    return Cut.SERIES, f"by its score it is number {place}; {SERIES_BOUND}"


def _put_off(ranked: Ranked, standing: Standing, rank: int | None) -> list[str]:
    """Return that a record which is found is further down than its score, for others of its series."""
    place = standing.whole.rank
    if not ranked.has_series or rank is None or place is None or rank <= place:
        return []
    return [f"by its score it is number {place}; {SERIES_BOUND}"]


def _context(path: SearchPath, ranked: Ranked, standing: Standing, found: KeyedRecord, rank: int | None) -> list[str]:
    """Return what is worth knowing about a record wherever it stands."""
    stale = [f"the index is older than the records: {ranked.reader.stale}"] if ranked.reader.stale else []
    return [
        *(_audiences(found.record) if path.scope.visibility.audiences is None else ()),
        *path.notes,
        *_put_off(ranked, standing, rank),
        *_about_words(ranked, standing, found),
        *_about_meaning(ranked, standing, found),
        *stale,
    ]


def _audiences(record: Record) -> list[str]:
    """Return the audiences of a restricted record."""
    if not record.audiences or PUBLIC in record.audiences:
        return []
    return [f"only these see it, and ServerAdmin: {', '.join(record.audiences)}"]


def _about_words(ranked: Ranked, standing: Standing, found: KeyedRecord) -> list[str]:
    terms = list(_terms(ranked, found).items())
    missing = [term for term, is_there in terms if not is_there]
    if not terms:
        return ["the query has no words to look for"]
    if len(missing) == len(terms):
        return [f"it has none of the words: {', '.join(missing)}"]
    place = f"by words it is {_place(standing.words, ranked.trace.depth)}"
    return [f"{place}; it lacks: {', '.join(missing)}" if missing else f"{place}, and has every word"]


def _about_meaning(ranked: Ranked, standing: Standing, found: KeyedRecord) -> list[str]:
    if ranked.trace.query.vector is None:
        return [f"searched by words alone: {ranked.degraded}"]
    if not np.any(ranked.reader.vectors([found.key])):
        return ["it has no vector: it was not embedded"]
    return [f"by meaning it is {_place(standing.meaning, ranked.trace.depth)}"]


def _place(ranked: RankIn, depth: int) -> str:
    """Return a place in an arm, and that the search does not look so far, if so."""
    if not ranked.rank:
        is_deeper = ranked.of > ranked.searched
        return f"not among the first {ranked.searched} of {ranked.of}" if is_deeper else "not found"
    place = f"number {ranked.rank} of {ranked.of}"
    return f"{place}, and a search looks at the first {depth}" if ranked.rank > depth else place


class WhyParams(GenericParams):
    """The arguments of `explain`."""

    id: StatedId = Field(description="CATALOGUE/ID")
    tool: str = Field(default="search", max_length=200, description="Tool that was called")
    arguments: dict[str, Any] = Field(description="Arguments of that call")


def explain_call(
    found: FoundRecord, tools: Iterable[ToolSpec], principal: Principal, asked: WhyParams
) -> ExplainResult:
    """Return why a record has its place in the answer to a call, or why it is not in it."""
    view, record = found
    tool = _explained_tool(tools, asked.tool)
    params = _params(tool, asked.arguments)
    if tool.reads and view.name not in tool.reads(params):
        raise InputError(f"'tool': '{tool.name}' does not look in '{view.name}'; 'search' does")
    if tool.searches is not None:
        return explain_record(tool.searches(principal, params, view.name, record.kind), record, tool=tool.name)
    assert tool.recommends is not None, "chosen above"
    placing = tool.recommends(principal, params, view.name, record.id)
    if placing is None:
        raise _is_gone(record)
    return _explain_placing(view, placing, limit=params.limit, tool=tool.name)


def _explain_placing(view: CatalogueView, placing: Placing, *, limit: int, tool: str) -> ExplainResult:
    """Return why a record is recommended, or why not."""
    record, spec = placing.record, view.spec
    why = placing.why or Why(strength={}, order={})
    cut, sentence = (None, "") if placing.rank else _cut_of_placing(placing, limit)
    reasons = [sentence]
    if placing.failed and not placing.is_named:
        found = KeyedRecord(Key(0), record, spec)
        is_shown = placing.place is not None and placing.place <= limit
        reasons = [
            *(_left_out(partial(describe_effect, tag_field=None), found, condition) for condition in placing.failed),
            _otherwise(placing.place if is_shown else None, sentence),
        ]
        cut = Cut.CONDITION
    nothing = RankResult(rank=None, score=None, of=0)
    chosen_by = round(sum(why.order.values()), DECIMALS) if placing.why else None
    return ExplainResult(
        id=address_of(view.name, record.id),
        title=spec.title_of(record),
        kind=record.kind,
        tool=tool,
        found=placing.rank is not None,
        rank=placing.rank,
        page=1 if placing.rank else None,
        cut=cut,
        score=round(sum(why.strength.values()), DECIMALS),
        match=None,
        strength=rounded_parts(why.strength),
        order=rounded_parts(why.order),
        parts={},
        words=nothing,
        meaning=nothing,
        whole=RankResult(rank=placing.place, score=chosen_by, of=placing.candidates),
        terms={},
        because=[reason for reason in reasons if reason],
    )


def _cut_of_placing(placing: Placing, limit: int) -> tuple[Cut, str]:
    """Return which cut of a recommendation a record is below, and a sentence that says so."""
    if placing.is_named:
        return Cut.NAMED, "it is one of the records that were given, and these are not recommended"
    if placing.place is None:
        return Cut.DEPTH, f"it is not among the {placing.candidates} records that are most like those that are liked"
    place = f"by its score it is number {placing.place} of {placing.candidates}"
    if placing.place > limit:
        return Cut.LIMIT, f"{place}, and {limit} are recommended"
    return Cut.SERIES, f"{place}; it is of a series of which enough are recommended, or one is disliked"


def _keyed(path: SearchPath, record: Record) -> KeyedRecord:
    keys = path.view.reader.find([record.id], scope=Scope(visibility=path.scope.visibility))
    if record.id not in keys:
        raise _is_gone(record)
    return KeyedRecord(keys[record.id], record, path.view.spec)


def _is_gone(record: Record) -> NotFoundError:
    return NotFoundError(f"the record '{record.id[:200]}' was deleted a moment ago; search again")


def _explained_tool(tools: Iterable[ToolSpec], name: str) -> ToolSpec:
    """Return a tool that searches or recommends, by its name or its plain name."""
    able = {tool.name: tool for tool in tools if tool.searches or tool.recommends}
    by_plain_name = {plain: able[own] for own, plain in plain_names(able).items()}
    tool = able.get(name) or by_plain_name.get(name)
    if tool is None:
        hint = did_you_mean(name, list(able))
        raise InputError(f"'tool': '{name[:80]}' neither searches nor recommends{hint}; one of: {', '.join(able)}")
    return tool


def _params(tool: ToolSpec, arguments: Mapping[str, Any]) -> Any:
    try:
        return validate_arguments(tool, arguments)
    except InputError as error:
        raise InputError(f"'arguments' of '{tool.name}': {error.message}") from error
