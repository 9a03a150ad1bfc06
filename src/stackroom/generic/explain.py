"""Explanations of an answer: why a record has its rank, or which condition or cut keeps it out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from pydantic import Field

from stackroom.catalogue.spec import texts_of
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
from stackroom.search.searcher import RankIn, Standing, find_standing
from stackroom.search.values import Label, adult_conditions
from stackroom.shelf.terms import meets, term_of, text_tokens
from stackroom.text.preference_pieces import describe_effect
from stackroom.tools.catalogue import CatalogueView, FoundRecord, address_of
from stackroom.tools.faces.mcp import DeclaredTool, Served, serve
from stackroom.tools.merge import SearchPath, ShownHits
from stackroom.tools.operation import Call, RawParams, identity_of
from stackroom.tools.spec import (
    DECIMALS,
    GenericParams,
    GenericResult,
    rounded_parts,
)
from stackroom.tools.toolbox import Toolbox, plain_names

SHOWN_VALUES = 3
FILTER = "filters."
SERIES_BOUND = (
    f"at most {OF_ONE_SERIES} of one series are among every ten, so it was put off behind others"
)


class Cut(StrEnum):
    """The reason why a record is not in an answer."""

    CONDITION = "condition"  # it does not meet a condition of the search
    DEPTH = "depth"  # no arm ranks it among the first that are looked at
    TOOL = "tool"  # a rule of the tool itself leaves it out
    # nothing answers the query, and it is not among the few nearest that are shown
    EVIDENCE = "evidence"
    LIMIT = "limit"  # it is ranked below the last record that is shown
    SERIES = "series"  # others of its series are shown, and it is put off behind other records
    NAMED = "named"  # it is one of the records that recommendations were asked for with


class RankResult(GenericResult):
    """A rank in one ranking of so many records, and the score there."""

    rank: int | None
    score: float | None
    of: int


class ExplainResult(GenericResult):
    """The place of a record in the answer, or what keeps it out; parts that add up to its score and
    to its order.

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
    view, visibility = path.view, path.scope.visibility
    key = view.reader.find([record.id], scope=Scope(visibility=visibility)).get(record.id)
    if key is None:
        raise _is_gone(record)
    found = KeyedRecord(key, record, view.spec)
    failed = [
        one for one in path.scope.all_conditions() if not meets(record, one, view.spec, key=key)
    ]
    kept = tuple(condition for condition in path.scope.conditions if condition not in failed)
    ranked = path.rank(replace(path.scope, conditions=kept))
    shown = path.show(ranked)
    place = next((place for place, other in enumerate(shown.keys, start=1) if other == key), None)
    standing = find_standing(path.searcher, ranked, found, raised=shown.raised.get(key))
    rank = None if failed else place
    cut, sentence = (None, "") if place else _cut(path, ranked, shown, standing, key)
    here = set(text_tokens(record, view.spec.searched_fields))
    terms = {term: term in here for term, _ in ranked.trace.query.terms.terms}
    audiences = (
        record.audiences if visibility.audiences is None and PUBLIC not in record.audiences else ()
    )
    by_score = standing.whole.rank
    is_put_off = ranked.has_series and rank is not None and by_score is not None and rank > by_score
    because = [
        *_left_out(path.label, found, failed, place, sentence),
        *([f"only these see it, and ServerAdmin: {', '.join(audiences)}"] if audiences else []),
        *path.notes,
        *([f"by its score it is number {by_score}; {SERIES_BOUND}"] if is_put_off else []),
        _about_words(ranked, standing, terms),
        _about_meaning(ranked, standing, key),
        *(
            [f"the index is older than the records: {ranked.reader.stale}"]
            if ranked.reader.stale
            else []
        ),
    ]
    return ExplainResult(
        **_placed(view, record, rank, page=path.page, why=standing.why),
        tool=tool,
        cut=Cut.CONDITION if failed else cut,
        score=round(standing.strength, DECIMALS),
        match=standing.match_type,
        parts={name: round(value, DECIMALS) for name, value in standing.reasons.items()},
        words=RankResult.model_validate(standing.words.plain()),
        meaning=RankResult.model_validate(standing.meaning.plain()),
        whole=RankResult.model_validate(standing.whole.plain()),
        terms=terms,
        because=because,
    )


def _placed(
    view: CatalogueView, record: Record, rank: int | None, *, page: int, why: Why
) -> dict[str, Any]:
    """Return which record has which place, with so many records on a page, and the parts of its
    score.
    """
    return {
        "id": address_of(view.name, record.id),
        "title": view.spec.title_of(record),
        "kind": record.kind,
        "found": rank is not None,
        "rank": rank,
        "page": None if rank is None else (rank - 1) // page + 1,
        "strength": rounded_parts(why.strength),
        "order": rounded_parts(why.order),
    }


def _left_out(
    label: Label, found: KeyedRecord, failed: Sequence[Condition], place: int | None, cut: str
) -> list[str]:
    """Return a sentence for each condition that a record does not meet, and what would be without
    them.
    """
    if not failed:
        return [cut] if cut else []
    otherwise = f"number {place}" if place else f"out all the same: {cut}"
    return [
        *(_unmet(label, found, condition) for condition in failed),
        f"otherwise it would be {otherwise}",
    ]


def _unmet(label_of: Label, found: KeyedRecord, condition: Condition) -> str:
    """Return a sentence about a condition that a record does not meet, with the value it has."""
    _, record, spec = found
    if condition.field == KEY_FIELD:
        return "it lies outside of the area of the map"
    if condition.field == KIND_FIELD:
        if isinstance(condition, NoneOf) and condition.values == spec.kinds_hidden_from_search:
            return (
                f"records of the kind '{record.kind}' are found only when 'filters.kind' asks for"
                " them"
            )
        return f"the filter 'kind' leaves it out: it has {record.kind}"
    if condition in adult_conditions(spec):
        return (
            "adult records are found only when a search asks for them, as with the filter 'adult'"
        )
    label = label_of(condition)
    name = (
        f"the filter '{label.removeprefix(FILTER)}'" if label.startswith(FILTER) else f"'{label}'"
    )
    verb = "has"
    if condition.field == WORDS_FIELD and not isinstance(condition, Range):
        here, is_among = (
            set(text_tokens(record, spec.searched_fields)),
            isinstance(condition, AnyOf | NoneOf),
        )
        values = [value for value in condition.values if (value in here) is is_among]
        verb = "has" if is_among else "lacks"
    else:
        names = condition.fields if isinstance(condition, Range) else [condition.field]
        values = [text for one in names for text in texts_of(record.get(one))]
        if isinstance(condition, NoneOf):
            excluded = {term_of(value) for value in condition.values}
            values = [value for value in values if term_of(value) in excluded]
        values = values[:SHOWN_VALUES]
    return f"{name} leaves it out: it {verb} {', '.join(values) or 'no value'}"


def _cut(
    path: SearchPath, ranked: Ranked, shown: ShownHits, standing: Standing, key: Key
) -> tuple[Cut, str]:
    """Return which cut a record in scope is below, and a sentence that says so."""
    if reason := shown.left_out.get(key):
        return Cut.TOOL, reason
    place, count = standing.whole.rank, len(shown.keys)
    if place is None:
        return (
            Cut.DEPTH,
            "no part of the search looks at it: it is too far down by words and by meaning",
        )
    if shown.evidence is Evidence.NONE and place > count:
        nearest = f", so only the nearest {count} are shown" if count else ""
        return Cut.EVIDENCE, f"nothing answers the query{nearest}; it is number {place}"
    if place > path.limit or not ranked.has_series:
        return Cut.LIMIT, f"it is number {place}, and {path.limit} are shown at most"
    return Cut.SERIES, f"by its score it is number {place}; {SERIES_BOUND}"


def _about_words(ranked: Ranked, standing: Standing, terms: Mapping[str, bool]) -> str:
    missing = [term for term, is_there in terms.items() if not is_there]
    if not terms:
        return "the query has no words to look for"
    if len(missing) == len(terms):
        return f"it has none of the words: {', '.join(missing)}"
    place = f"by words it is {_place(standing.words, ranked.trace.depth)}"
    return f"{place}; it lacks: {', '.join(missing)}" if missing else f"{place}, and has every word"


def _about_meaning(ranked: Ranked, standing: Standing, key: Key) -> str:
    if ranked.trace.query.vector is None:
        return f"searched by words alone: {ranked.degraded}"
    if not np.any(ranked.reader.vectors([key])):
        return "it has no vector: it was not embedded"
    return f"by meaning it is {_place(standing.meaning, ranked.trace.depth)}"


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
    found: FoundRecord, tools: Iterable[DeclaredTool], principal: Principal, asked: WhyParams
) -> ExplainResult:
    """Return why a record has its place in the answer to a call, or why it is not in it."""
    view, record = found
    tool = _explained_tool(tools, asked.tool)
    given = RawParams(values=asked.arguments, noun="argument", shows_values=True)
    try:
        params: Any = given.read(tool.params)
    except InputError as error:
        raise InputError(f"'arguments' of '{tool.name}': {error.message}") from error
    names = tool.reads(params)
    if names is not None and view.name not in names:
        raise InputError(f"'tool': '{tool.name}' does not look in '{view.name}'; 'search' does")
    call = Call(
        identity=identity_of(principal),
        server=Toolbox([]),
        catalogues=tool.catalogues,
        chosen=tool.chosen(params),
    )
    if tool.operation.finds is not None:
        return explain_record(
            tool.operation.finds(call, params, view.name, record.kind), record, tool=tool.name
        )
    assert tool.operation.recommends is not None, "chosen above"
    placing = tool.operation.recommends(call, params, view.name, record.id)
    if placing is None:
        raise _is_gone(record)
    return _explain_placing(view, placing, limit=params.limit, tool=tool.name)


def _explain_placing(
    view: CatalogueView, placing: Placing, *, limit: int, tool: str
) -> ExplainResult:
    """Return why a record is recommended, or why not."""
    record, why = placing.record, placing.why or Why(strength={}, order={})
    cut, sentence = (None, "") if placing.rank else _cut_of_placing(placing, limit)
    failed = () if placing.is_named else placing.failed
    is_shown = placing.place is not None and placing.place <= limit
    label, keyed = partial(describe_effect, tag_field=None), KeyedRecord(Key(0), record, view.spec)
    nothing = RankResult(rank=None, score=None, of=0)
    chosen_by = round(sum(why.order.values()), DECIMALS) if placing.why else None
    return ExplainResult(
        **_placed(view, record, placing.rank, page=limit, why=why),
        tool=tool,
        cut=Cut.CONDITION if failed else cut,
        score=round(sum(why.strength.values()), DECIMALS),
        match=None,
        parts={},
        words=nothing,
        meaning=nothing,
        whole=RankResult(rank=placing.place, score=chosen_by, of=placing.candidates),
        terms={},
        because=_left_out(label, keyed, failed, placing.place if is_shown else None, sentence),
    )


def _cut_of_placing(placing: Placing, limit: int) -> tuple[Cut, str]:
    """Return which cut of a recommendation a record is below, and a sentence that says so."""
    if placing.is_named:
        return Cut.NAMED, "it is one of the records that were given, and these are not recommended"
    if placing.place is None:
        return (
            Cut.DEPTH,
            (
                f"it is not among the {placing.candidates} records that are most like those that"
                " are liked"
            ),
        )
    place = f"by its score it is number {placing.place} of {placing.candidates}"
    if placing.place > limit:
        return Cut.LIMIT, f"{place}, and {limit} are recommended"
    return (
        Cut.SERIES,
        f"{place}; it is of a series of which enough are recommended, or one is disliked",
    )


def _is_gone(record: Record) -> NotFoundError:
    return NotFoundError(f"the record '{record.id[:200]}' was deleted a moment ago; search again")


def _explained_tool(tools: Iterable[DeclaredTool], name: str) -> Served:
    """Return a tool that searches or recommends, by its name or its plain name."""
    able = {
        tool.name: tool
        for tool in serve(tools, ())
        if tool.operation.finds or tool.operation.recommends
    }
    by_plain_name = {plain: able[own] for own, plain in plain_names(able).items()}
    tool = able.get(name) or by_plain_name.get(name)
    if tool is None:
        hint = did_you_mean(name, list(able))
        raise InputError(
            f"'tool': '{name[:80]}' neither searches nor recommends{hint}; one of:"
            f" {', '.join(able)}"
        )
    return tool
