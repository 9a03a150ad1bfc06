"""Explanations of a search: why a record has its rank, or which condition or cut keeps it out of the answer.

The tool that is asked decides what is found: it declares its path, which is run again for the record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from pydantic import ValidationError

from stackroom.catalogue.spec import texts_of
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.model.hits import Evidence, Hit
from stackroom.model.principal import Principal
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KIND_FIELD,
    PUBLIC,
    WORDS_FIELD,
    AnyOf,
    Condition,
    NoneOf,
    Scope,
)
from stackroom.search.ranked import OF_ONE_SERIES, KeyedRecord, Ranked
from stackroom.search.standing import RankIn, Standing, find_standing
from stackroom.search.values import adult_conditions
from stackroom.shelf.terms import meets, term_of, text_tokens
from stackroom.text.validation_words import plain_words
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, address_of
from stackroom.tools.generic.tools import generic_tools
from stackroom.tools.merge import SearchPath, Shown
from stackroom.tools.spec import DECIMALS, ToolSpec, rounded_parts
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The place of a record in the answer of a tool, or what keeps it out."""

    tool: str
    rank: int | None
    """Its place in the answer; None where it is not in it."""
    page: int | None
    cut: Cut | None
    standing: Standing
    """Its place in the search; without the conditions that it does not meet, if there are some."""
    has_terms: Mapping[str, bool]
    because: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return the explanation as a JSON object."""
        standing = self.standing
        return {
            "tool": self.tool,
            "found": self.rank is not None,
            "rank": self.rank,
            "page": self.page,
            "cut": self.cut,
            "score": round(standing.strength, DECIMALS),
            "match": standing.match_type,
            "strength": rounded_parts(standing.why.strength),
            "order": rounded_parts(standing.why.order),
            "parts": {name: round(value, DECIMALS) for name, value in standing.reasons.items()},
            "words": standing.words.plain(),
            "meaning": standing.meaning.plain(),
            "whole": standing.whole.plain(),
            "terms": dict(self.has_terms),
            "because": list(self.because),
        }


def explain_record(path: SearchPath, found: KeyedRecord, *, tool: str) -> Explanation:
    """Explain the place of a record in a tool's answer, or why it is not in it."""
    failed = [condition for condition in path.scope.all_conditions() if not meets(found.record, condition, found.spec)]
    scope = _without(path.scope, failed)
    ranked = path.rank(scope)
    shown = path.show(ranked)
    place = next((place for place, key in enumerate(shown.keys, start=1) if key == found.key), None)
    standing = find_standing(path.searcher, ranked, found, raised=shown.raised.get(found.key))
    rank = None if failed else place
    cut, sentence = (None, "") if place else _cut(path, ranked, shown, standing, found.key)
    reasons = [*(_left_out(path, found, one) for one in failed), _otherwise(place, sentence)] if failed else [sentence]
    return Explanation(
        tool=tool,
        rank=rank,
        page=None if rank is None else (rank - 1) // path.page + 1,
        cut=Cut.CONDITION if failed else cut,
        standing=standing,
        has_terms=_terms(ranked, found),
        because=tuple(filter(None, [*reasons, *_context(path, ranked, standing, found, rank)])),
    )


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
    return {term: term in here for term, _ in ranked.trace.query.terms}


def _left_out(path: SearchPath, found: KeyedRecord, condition: Condition) -> str:
    """Return a sentence about a condition that a record does not meet, with the value it has."""
    record, spec = found.record, found.spec
    if condition.field == AUDIENCE_FIELD:
        return f"only these may see it: {', '.join(record.audiences)}"
    if condition.field == KIND_FIELD:
        return _left_out_by_kind(path, record, condition)
    if condition in adult_conditions(spec):
        return "adult records are found only when a search asks for them, as with the filter 'adult'"
    label = path.label(condition)
    name = f"the filter '{label.removeprefix(FILTER)}'" if label.startswith(FILTER) else f"'{label}'"
    if condition.field == WORDS_FIELD and not isinstance(condition, AnyOf | NoneOf):
        return f"{name} leaves it out: it lacks {', '.join(_unmet(found, condition))}"
    return f"{name} leaves it out: it has {_values(found, condition) or 'no value'}"


def _left_out_by_kind(path: SearchPath, record: Record, condition: Condition) -> str:
    hidden = path.view.spec.kinds_hidden_from_search
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
    values = texts_of(found.record.get(condition.field))
    if isinstance(condition, NoneOf):
        excluded = {term_of(value) for value in condition.values}
        values = [value for value in values if term_of(value) in excluded]
    return ", ".join(values[:SHOWN_VALUES])


def _cut(path: SearchPath, ranked: Ranked, shown: Shown, standing: Standing, key: Key) -> tuple[Cut, str]:
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
    if ranked.trace.vector is None:
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


GENERIC_SEARCH = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCall:
    """The query and other arguments of a call, and the record whose place in its answer is to be explained."""

    id: str
    query: str
    tool: str | None = None
    """The tool that is called; None: the one that serves the catalogue."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


def explain_call(
    catalogue: OpenCatalogue, tools: Iterable[ToolSpec], principal: Principal, question: ExplainedCall
) -> dict[str, Any]:
    """Return why a record has its place in the answer to a call, or why it is not in it."""
    record = require_record(catalogue.view(), question.id, principal)
    tool, path = find_path(catalogue, tools, principal, question, record)
    return explain_path(path, record, tool=tool.name)


def explain_path(path: SearchPath, record: Record, *, tool: str) -> dict[str, Any]:
    """Return why a record has its place in what a tool shows, or why it is not in it."""
    return {
        "id": address_of(path.view.name, record.id),
        "title": path.view.spec.title_of(record),
        "kind": record.kind,
        **explain_record(path, _keyed(path, record), tool=tool).plain(),
    }


def explain_hits(path: SearchPath, limit: int) -> list[Hit]:
    """Return the first records that a tool shows, with explanations."""
    ranked = path.rank(path.scope)
    shown = path.show(ranked)
    hits = {**{one.key: one for one in ranked.ranking}, **shown.raised}
    return ranked.read([hits[key] for key in shown.keys[:limit]], explain=True)


def find_path(
    catalogue: OpenCatalogue,
    tools: Iterable[ToolSpec],
    principal: Principal,
    question: ExplainedCall,
    record: Record | None = None,
) -> tuple[ToolSpec, SearchPath]:
    """Return the tool that a question is about, and how it searches the catalogue; of a record only the kind counts."""
    kind = record.kind if record else catalogue.spec.kinds[0]
    able = _search_tools(catalogue, tools)
    asked = _Asked(catalogue=catalogue, principal=principal, question=question, kind=kind)
    return _named_path(able, asked) if question.tool else _first_path(able, asked)


def require_record(view: CatalogueView, stated: str, principal: Principal) -> Record:
    """Return the record of an id; raise NotFoundError with the one whose name is most like it."""
    scope = Scope(visibility=principal.visibility)
    record = view.find_stated(stated, scope=scope)
    if record is not None:
        return record
    alike = view.reader.titles_like(stated, scope=scope, limit=1)
    hint = (
        f"; did you mean {address_of(view.name, view.reader.ids([alike[0].key])[0])}?"
        if alike
        else "; search finds ids"
    )
    raise NotFoundError(f"no record '{stated[:200]}' in '{view.name}'{hint}")


def _keyed(path: SearchPath, record: Record) -> KeyedRecord:
    keys = path.view.reader.find([record.id], scope=Scope(visibility=path.scope.visibility))
    if record.id not in keys:
        raise NotFoundError(f"the record '{record.id[:200]}' was deleted a moment ago; search again")
    return KeyedRecord(keys[record.id], record, path.view.spec)


def _search_tools(catalogue: OpenCatalogue, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return the tools that search, the catalogue's own before the generic one."""
    able = [tool for tool in tools if tool.searches]
    return [*(tool for tool in able if tool.name != GENERIC_SEARCH), *_generic(catalogue, able)]


def _generic(catalogue: OpenCatalogue, able: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Return the generic search; one of its own where it is not served."""
    served = [tool for tool in able if tool.name == GENERIC_SEARCH]
    return served or [tool for tool in generic_tools([catalogue]) if tool.searches]


def _named_path(able: Sequence[ToolSpec], asked: "_Asked") -> tuple[ToolSpec, SearchPath]:
    names, name = [tool.name for tool in able], asked.question.tool or ""
    plain = plain_names(tool.name for tool in able)
    tool = next((tool for tool in able if name in (tool.name, plain.get(tool.name))), None)
    if tool is None:
        hint = did_you_mean(name, names)
        raise InputError(f"'tool': no search tool '{name[:80]}'{hint}; one of: {', '.join(names)}")
    path = asked.path(tool)
    if path is None:
        raise InputError(f"'tool': '{name}' does not search '{asked.catalogue.name}'; one of: {', '.join(names)}")
    return tool, path


def _first_path(able: Sequence[ToolSpec], asked: "_Asked") -> tuple[ToolSpec, SearchPath]:
    """Return the first tool that takes these arguments and finds records of this kind.

    Else it is the generic search, or where that does not take the arguments, the first tool that does.
    """
    paths = [(tool, path) for tool in able if (path := _try_path(tool, asked)) is not None]
    if not paths:
        raise _refusal(able[-1], asked)
    fitting = [(tool, path) for tool, path in paths if _finds_kind(path, asked.kind)]
    generic = [(tool, path) for tool, path in paths if tool is able[-1]]
    return (fitting or generic or paths)[0]


def _try_path(tool: ToolSpec, asked: "_Asked") -> SearchPath | None:
    """Return how a tool searches for the call; None where it does not read the catalogue, or refuses the arguments."""
    try:
        return asked.path(tool)
    except InputError:
        return None


def _refusal(tool: ToolSpec, asked: "_Asked") -> InputError:
    """Return why a tool refuses a call."""
    try:
        asked.path(tool)
    except InputError as error:
        return error
    return InputError(f"no tool searches '{asked.catalogue.name}'")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question by a caller, and the kind of record that it is about."""

    catalogue: OpenCatalogue
    principal: Principal
    question: ExplainedCall
    kind: str

    def path(self, tool: ToolSpec) -> SearchPath | None:
        """Return how a tool searches the catalogue for the call; None where it does not read it."""
        params = _params(tool, {**self.question.arguments, "query": self.question.query})
        if tool.searches is None or (tool.reads and self.catalogue.name not in tool.reads(params)):
            return None
        return tool.searches(self.principal, params, self.catalogue.name, self.kind)


def _params(tool: ToolSpec, arguments: Mapping[str, Any]) -> Any:
    try:
        return tool.params.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, known = ".".join(str(step) for step in first["loc"]), ", ".join(tool.input_schema["properties"])
        problem = f"is not known; known: {known}" if first["type"] == "extra_forbidden" else plain_words(first)
        raise InputError(f"'arguments.{place[:200]}' of '{tool.name}' {problem}") from error


def _finds_kind(path: SearchPath, kind: str) -> bool:
    conditions = [condition for condition in path.scope.conditions if condition.field == KIND_FIELD]
    of_kind = Record(id=RecordId(""), kind=kind, fields={})
    return all(meets(of_kind, condition, path.view.spec) for condition in conditions)
