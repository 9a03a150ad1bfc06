"""Explanations of an answer: why a record has its rank, or which condition or cut keeps it out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from stackroom.catalogue.spec import texts_of
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.generic.shapes import StatedId
from stackroom.model.hits import DECIMALS, Evidence, Why, rounded_parts
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
from stackroom.search.question import View
from stackroom.search.ranked import OF_ONE_SERIES, KeyedRecord, Ranked
from stackroom.search.result_set import Part, Placing, ResultSet
from stackroom.search.searcher import RankIn, Standing, find_standing
from stackroom.search.values import Label, adult_conditions
from stackroom.shelf.terms import meets, term_of, text_tokens
from stackroom.text.instructions import quoted
from stackroom.text.preference_pieces import describe_effect
from stackroom.tools.catalogue import FoundRecord, OpenCatalogue, address_of
from stackroom.tools.faces.mcp import Served
from stackroom.tools.operation import Call, RawParams
from stackroom.tools.reading import is_list
from stackroom.tools.spec import GenericParams, GenericResult
from stackroom.tools.toolbox import plain_names

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
    score: Annotated[float | None, BeforeValidator(lambda score: score and round(score, DECIMALS))]
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


def explain_record(
    found: ResultSet, catalogue: OpenCatalogue, record: Record, *, tool: str
) -> ExplainResult:
    """Return why a record has its place in what a tool finds in its catalogue, or why it is not in
    it.
    """
    part, key, failed = _part_about(found, record)
    view, scope = part.view, part.reading.scope
    if part.place is not None:
        return _explain_placing(
            view, record, part.place(record.id), limit=found.page_size, tool=tool
        )
    if (ranked := part.ranked) is None:
        if found.lists and is_list(part.reading.asked):
            raise InputError("a list has no ranking to explain; give a query in words")
        query = quoted(part.reading.asked[:60])
        raise InputError(
            f"'query': '{query}' only states what records have; add words to rank them by"
        )
    if failed:
        kept = tuple(condition for condition in scope.conditions if condition not in failed)
        part = part.found_again(replace(scope, conditions=kept))
        ranked = part.ranked or ranked
    found = replace(found, parts=[part])
    shown, keyed = found.keys(), KeyedRecord(key, record, view.spec)
    place = shown.index(key) + 1 if key in shown else None
    standing = find_standing(catalogue.searcher, ranked, part.ranking, keyed)
    rank = None if failed else place
    cut, sentence = (None, "") if place else _cut(found, ranked, len(shown), standing, key)
    here = set(text_tokens(record, view.spec.searched_fields))
    terms = {term: term in here for term, _ in ranked.trace.query.terms.terms}
    sees_all = scope.visibility.audiences is None
    audiences = record.audiences if sees_all and PUBLIC not in record.audiences else ()
    by_score = standing.whole.rank
    is_put_off = ranked.has_series and rank is not None and by_score is not None and rank > by_score
    stale = ranked.reader.stale
    because = [
        *_left_out(found.label, keyed, failed, place, sentence),
        f"only these see it, and ServerAdmin: {', '.join(audiences)}" if audiences else "",
        *found.filter_notes,
        *part.reading.notes,
        f"by its score it is number {by_score}; {SERIES_BOUND}" if is_put_off else "",
        _about_words(ranked, standing, terms),
        _about_meaning(ranked, standing, key),
        f"the index is older than the records: {stale}" if stale else "",
    ]
    return ExplainResult(
        **_placed(view, record, rank, page=found.page_size, why=standing.why),
        tool=tool,
        cut=Cut.CONDITION if failed else cut,
        score=round(standing.strength, DECIMALS),
        match=standing.match_type,
        parts={name: round(value, DECIMALS) for name, value in standing.reasons.items()},
        words=RankResult.model_validate(standing.words),
        meaning=RankResult.model_validate(standing.meaning),
        whole=RankResult.model_validate(standing.whole),
        terms=terms,
        because=list(filter(None, because)),
    )


def _part_about(found: ResultSet, record: Record) -> tuple[Part, Key, list[Condition]]:
    """Return the part that a record is in, or would be but for the fewest conditions, which it does
    not meet.
    """

    def unmet(part: Part) -> list[Condition]:
        conditions = part.reading.scope.all_conditions()
        return [one for one in conditions if not meets(record, one, part.view.spec, key=key)]

    view, scope = found.parts[0].view, found.parts[0].reading.scope
    key = view.reader.find([record.id], scope=Scope(visibility=scope.visibility)).get(record.id)
    if key is None:
        raise _is_gone(record)
    part = min(found.parts, key=lambda part: len(unmet(part)))
    return part, key, unmet(part)


def _placed(view: View, record: Record, rank: int | None, *, page: int, why: Why) -> dict[str, Any]:
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
    plain = label.removeprefix(FILTER)
    name = f"'{label}'" if plain == label else f"the filter '{plain}'"
    verb = "has"
    if condition.field == WORDS_FIELD and not isinstance(condition, Range):
        here = set(text_tokens(record, spec.searched_fields))
        is_among = isinstance(condition, AnyOf | NoneOf)
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
    found: ResultSet, ranked: Ranked, count: int, standing: Standing, key: Key
) -> tuple[Cut, str]:
    """Return which cut a record in scope is below, of so many that are shown, and a sentence that
    says so.
    """
    if reason := found.why_left_out(found.parts[0], key):
        return Cut.TOOL, reason
    place = standing.whole.rank
    if place is None:
        return (
            Cut.DEPTH,
            "no part of the search looks at it: it is too far down by words and by meaning",
        )
    if found.evidence is Evidence.NONE and place > count:
        nearest = f", so only the nearest {count} are shown" if count else ""
        return Cut.EVIDENCE, f"nothing answers the query{nearest}; it is number {place}"
    if place > found.most or not ranked.has_series:
        return Cut.LIMIT, f"it is number {place}, and {found.most} are shown at most"
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


def explain_call(asked: FoundRecord, call: Call, why: WhyParams) -> ExplainResult:
    """Return why a record has its place in the answer to a call, or why it is not in it."""
    view, record = asked
    tool = _explained_tool(call.server.declared, why.tool)
    given = RawParams(values=why.arguments, noun="argument", shows_values=True)
    try:
        params: Any = given.read(tool.params)
    except InputError as error:
        raise InputError(f"'arguments' of '{tool.name}': {error.message}") from error
    assert tool.operation.finds is not None, "chosen above"
    names, found = tool.reads(params), ResultSet(parts=[])
    if names is None or view.name in names:
        only = replace(call, catalogues=[view.catalogue], chosen=view.name)
        found = tool.operation.finds(only, params)
    if not found.parts:
        raise InputError(f"'tool': '{tool.name}' does not look in '{view.name}'; 'search' does")
    return explain_record(found, view.catalogue, record, tool=tool.name)


def _explain_placing(
    view: View, record: Record, placing: Placing | None, *, limit: int, tool: str
) -> ExplainResult:
    """Return why a record is recommended, or why not."""
    if placing is None:
        raise _is_gone(record)
    why = placing.why or Why(strength={}, order={})
    cut, sentence = (None, "") if placing.rank else _cut_of_placing(placing, limit)
    failed, place = () if placing.is_named else placing.failed, placing.place
    shown = place if place is not None and place <= limit else None
    label, keyed = partial(describe_effect, tag_field=None), KeyedRecord(Key(0), record, view.spec)
    nothing = RankResult(rank=None, score=None, of=0)
    chosen_by = sum(why.order.values()) if placing.why else None
    return ExplainResult(
        **_placed(view, record, placing.rank, page=limit, why=why),
        tool=tool,
        cut=Cut.CONDITION if failed else cut,
        score=round(sum(why.strength.values()), DECIMALS),
        match=None,
        parts={},
        words=nothing,
        meaning=nothing,
        whole=RankResult(rank=place, score=chosen_by, of=placing.candidates),
        terms={},
        because=_left_out(label, keyed, failed, shown, sentence),
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


def _explained_tool(tools: Iterable[Served], name: str) -> Served:
    """Return a tool that searches or recommends, by its name or its plain name."""
    able = {tool.name: tool for tool in tools if tool.operation.finds}
    by_plain_name = {plain: able[own] for own, plain in plain_names(able).items()}
    tool = able.get(name) or by_plain_name.get(name)
    if tool is None:
        hint = did_you_mean(name, list(able))
        raise InputError(
            f"'tool': '{name[:80]}' neither searches nor recommends{hint}; one of:"
            f" {', '.join(able)}"
        )
    return tool
