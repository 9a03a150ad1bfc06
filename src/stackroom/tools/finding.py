"""Finding records in several catalogues at once: the scope in each, and the set of what is found.

A catalogue that lacks a value is left out, and named, where another has it; where none has it, the
call is refused.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.model.hits import Evidence, Ranking
from stackroom.model.scope import Condition, NoneOf, Scope, Visibility
from stackroom.model.vectors import ModelId
from stackroom.search.question import ReadQuestion, in_order, list_records, plain_reading
from stackroom.search.result_set import Part, ResultSet, by_catalogue, list_part
from stackroom.search.searcher import FURTHEST, QueryVector
from stackroom.search.values import Label, argument_of, resolve_condition, without_adult
from stackroom.text.analyser import MAX_CHARS
from stackroom.text.normalise import clean
from stackroom.tools.catalogue import ByCatalogue, CatalogueView, ask_each
from stackroom.tools.reading import EVERY, read_question

SORTED_DEEP = 400  # how many hits of a search are looked at for those that answer, to sort them

Read = Callable[[CatalogueView, Scope], ReadQuestion]


Also = Callable[[CatalogueView, str], Collection[str]]
"""Returns further words to search for, beside those of a query in a catalogue."""


def find_part(
    view: CatalogueView,
    reading: ReadQuestion,
    *,
    also: Also | None = None,
    vector: QueryVector | None = None,
    limit: int = FURTHEST,
) -> Part:
    """Return what a question finds in one catalogue, in its order: the best, or all that it lists.

    Where nothing answers, words that may order leave no record of the scope out.
    """
    if reading.is_list:
        return list_part(view, reading)
    deep = max(limit, SORTED_DEEP) if reading.sort else limit
    words = also(view, clean(reading.query[:MAX_CHARS])) if also else ()
    found = view.catalogue.searcher.rank(
        view.reader,
        reading.query,
        scope=reading.scope,
        limit=deep,
        query_vector=vector,
        also=words,
    )
    ranked = in_order(found, view, reading)

    def again(scope: Scope, limit: int) -> Part:
        return find_part(view, replace(reading, scope=scope), also=also, vector=vector, limit=limit)

    part = Part(view=view, reading=reading, ranking=ranked.ranking, ranked=ranked, again=again)
    if part.evidence is not Evidence.NONE or not reading.may_order:
        return part
    first, every = part.first(FURTHEST), list_records(view, reading).keys
    scores = dict(zip(first.keys.tolist(), first.scores.tolist(), strict=True))
    keys = list(dict.fromkeys((*([] if reading.sort else scores), *every.tolist())))
    ranking = Ranking(
        keys=np.array(keys, dtype=np.int64),
        scores=np.array([scores.get(key, 0.0) for key in keys]),
        total=len(keys),
    )
    return replace(part, ranking=ranking, only_orders=True)


def _embed_once(
    views: Mapping[str, CatalogueView], queries: Mapping[str, str]
) -> dict[str, QueryVector]:
    """Return the vector of each catalogue's query, embedded once for all whose vectors are by the
    same model.

    Vectors that are centred differ by catalogue; their model embeds a query once all the same.
    """
    known: dict[tuple[ModelId | None, str, str], QueryVector] = {}
    vectors = {}
    for name, view in views.items():
        if query := queries[name]:
            key = (view.reader.model, name if view.reader.mean is not None else "", query)
            vectors[name] = known[key] = known.get(key) or view.embed(query)
    return vectors


def fitting_notes(found: ResultSet, *, as_read: bool = False) -> list[str]:
    """Return a note on how many records have the filters of a search, where more do than it found;
    `as_read`: those that its question states too.
    """

    def count(part: Part) -> int:
        return part.view.reader.count(part.reading.scope if as_read else part.reading.given)

    fitting = sum(ask_each({one.view.name: one for one in found.parts}, count).found.values())
    return (
        [f"{fitting:,} records have these filters; query '{EVERY}' lists them all"]
        if fitting > found.listed
        else []
    )


@frozen
class ScopeRequest:
    """The part of a call that limits what is found."""

    query: str
    visibility: Visibility
    conditions: Callable[[CatalogueSpec], Sequence[Condition]] = lambda _spec: ()
    """Returns the conditions for a catalogue of this spec."""
    # returns the name of the argument that a condition came from, for errors and notes
    label: Label = argument_of
    with_adult: Callable[[CatalogueSpec], bool] = lambda _spec: False
    """Tells whether the call asks for adult records too."""
    within: tuple[Condition, ...] = ()  # the conditions of the tool itself


@frozen
class CatalogueScopes:
    """The catalogues to search, the scope in each, and notes on how the filters were understood."""

    asked: ScopeRequest
    views: ByCatalogue[CatalogueView]
    scopes: Mapping[str, Scope]
    notes: list[str]

    def find(
        self,
        *,
        is_plain: bool = False,
        read: Read | None = None,
        also: Also | None = None,
        pool: Executor | None = None,
        page_size: int = 10,
        explains: bool = False,
    ) -> ResultSet:
        """Return what the call finds in every catalogue, its question read and searched in the
        scope of each; catalogues whose storage fails are skipped.

        Where nothing answers, what a question may not have stated is searched for as words. With
        `is_plain` its whole query is; `read` reads it otherwise; `also` returns further words to
        search for, in a catalogue.
        """
        asked, views = self.asked, self.views.found

        def read_in(view: CatalogueView) -> ReadQuestion:
            scope = self.scopes[view.name]
            if is_plain:
                return plain_reading(asked.query, scope)
            return read(view, scope) if read else read_question(view, asked.query, scope)

        readings = ask_each(views, read_in)
        known = {name: views[name] for name in readings.found}
        vectors = _embed_once(known, {name: one.query for name, one in readings.found.items()})

        def find_in(view: CatalogueView) -> Part:
            reading = readings.found[view.name]
            part = find_part(view, reading, also=also, vector=vectors.get(view.name))
            if part.evidence is Evidence.NONE and reading.likely and not reading.names_moods:
                as_words = reading.likely  # words of the topic
                again = read_question(view, reading.asked, reading.given, as_words=as_words)
                part = find_part(view, replace(again, sort=reading.sort), also=also)
            if len(known) > 1:  # one whose records cannot be read fails here alone, not a page
                part.hits(1)
            return part

        parts = ask_each(known, find_in, pool=pool)
        return ResultSet(
            parts=list(parts.found.values()),
            unread=[*self.views.skipped, *readings.skipped, *parts.skipped],
            filter_notes=self.notes,
            label=asked.label,
            page_size=page_size,
            explains=explains,
        )


class _Scope(NamedTuple):
    """A scope in one catalogue, its notes, the fields it excludes values by, and the errors of
    values it lacks.
    """

    scope: Scope
    notes: list[str]
    excluding: set[str]
    unknown: dict[str, InputError]


def scope_each(views: ByCatalogue[CatalogueView], asked: ScopeRequest) -> CatalogueScopes:
    """Return the scope of a call in each catalogue; raise InputError for a value that no catalogue
    knows.
    """
    answers = ask_each(views.found, partial(_scope_or_refusal, asked))
    found = {name: one for name, one in answers.found.items() if isinstance(one, _Scope)}
    refused = {name: one for name, one in answers.found.items() if isinstance(one, InputError)}
    if refused and not found:
        raise next(iter(refused.values()))
    known = {name for one in found.values() for name in one.excluding}
    for name, error in (unknown for one in found.values() for unknown in one.unknown.items()):
        # to exclude what no catalogue has would do nothing, and nobody would be told
        if name not in known:
            raise error
    here = {name: views.found[name] for name in found}
    readable = ByCatalogue(found=here, skipped=[*views.skipped, *answers.skipped])
    left_out = (
        [f"not searched, without a value that was asked for: {', '.join(refused)}"]
        if refused
        else []
    )
    said = by_catalogue({name: one.notes for name, one in found.items()}, among=len(found))
    scopes = {name: one.scope for name, one in found.items()}
    return CatalogueScopes(asked=asked, views=readable, scopes=scopes, notes=[*left_out, *said])


def _scope_or_refusal(asked: ScopeRequest, view: CatalogueView) -> _Scope | InputError:
    """Return the scope of a call in one catalogue, or the error of a value that it does not know
    and must have.
    """
    conditions: list[Condition] = []
    notes, unknown, visibility = list[str](), dict[str, InputError](), asked.visibility
    resolve = partial(resolve_condition, visibility=visibility, label=asked.label)
    try:
        for condition in asked.conditions(view.spec):
            try:
                named, said = resolve(condition, view.reader, view.spec)
            except InputError as error:
                if not isinstance(condition, NoneOf):
                    raise
                unknown[condition.field] = error
            else:
                conditions.append(named)
                notes += said
        excluding = {condition.field for condition in conditions if isinstance(condition, NoneOf)}
        if not asked.with_adult(view.spec):
            conditions += without_adult(
                conditions, view.reader, view.spec, query=asked.query, visibility=visibility
            )
    except InputError as error:
        return error
    scope = Scope(conditions=(*conditions, *asked.within), visibility=visibility)
    return _Scope(scope, notes, excluding, unknown)


def scope_of(view: CatalogueView, asked: ScopeRequest) -> tuple[Scope, list[str]]:
    """Return the scope of a call in one catalogue, and notes; raise InputError for a value that it
    does not know.
    """
    only = scope_each(ByCatalogue(found={view.name: view}, skipped=[]), asked)
    return only.scopes[view.name], only.notes


def shown_scope(view: CatalogueView, visibility: Visibility) -> Scope:
    """Return the scope of what a search shows that asks for nothing: what the caller may see,
    without adult records.
    """
    return scope_of(view, ScopeRequest(query="", visibility=visibility))[0]
