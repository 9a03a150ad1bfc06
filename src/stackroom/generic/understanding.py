"""Reading a query: the conditions that it states in plain words act as filters, and the rest is searched for."""

from collections.abc import Mapping, Sequence
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FilterKind
from stackroom.catalogue.telling import label_of
from stackroom.generic.aggregate.aggregate import written_range
from stackroom.generic.result_set import EVERY, only_view
from stackroom.generic.shapes import SearchParams, Understood, UnderstoodPhrase
from stackroom.model.principal import Principal
from stackroom.model.scope import Condition, NoneOf, Range, Scope
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.shelf.terms import term_of
from stackroom.text.preference_pieces import PreferenceVocabulary
from stackroom.text.query_conditions import ReadQuery, read_query
from stackroom.tools.catalogue import ByCatalogue, CatalogueView
from stackroom.tools.filters import filters_of, parse_filters

NAME_LIKE = 0.75
"""The likeness to a record's name from which a query is that name, and states nothing: "No Game No Life"."""

LEFT_ASIDE = "'{phrase}' was left aside: it does not go with what you chose under {label}"


def understand_query(
    view: CatalogueView,
    seen: Scope,
    query: str,
    *,
    filters: Mapping[str, Any],
    exclude: Mapping[str, Any],
    as_words: Sequence[str],
) -> tuple[Understood, list[str]]:
    """Return the query without the conditions that it states, these beside those that were asked for, and notes.

    `seen` is all that the caller may see.
    """
    read = _read(view, seen, query, as_words)
    filters, exclude = dict(filters), {name: _values_of(values) for name, values in exclude.items()}
    phrases, notes = [], []
    for stated in read.stated:
        held = [condition for condition in stated.conditions if _add(condition, filters, exclude, view.spec)]
        if held:
            text = ", ".join(describe(condition, view.spec) for condition in held)
            phrases.append(UnderstoodPhrase(phrase=stated.phrase, text=text, field=held[0].field))
        else:
            notes.append(LEFT_ASIDE.format(phrase=stated.phrase, label=label_of(stated.conditions[0].field)))
    return Understood(query=read.rest, filters=filters, exclude=exclude, phrases=phrases), notes


def names_only_moods(view: CatalogueView, seen: Scope, query: str) -> bool:
    """Tell whether all words of a query are for a mood, or of the catalogue, so that nothing else is asked for."""
    return read_query(query, _vocabulary(view, seen)).is_known


def _values_of(stated: Any) -> list[str]:
    return list(stated) if isinstance(stated, list | tuple) else [stated]


def describe(condition: Condition, spec: CatalogueSpec) -> str:
    """Return a condition in a few words: "not horror", "Year ≥ 2011"."""
    if not isinstance(condition, Range):
        values = ", ".join(condition.values)
        return f"not {values}" if isinstance(condition, NoneOf) else f"{label_of(condition.field)}: {values}"
    label, bounds = label_of(condition.field), written_range(condition, spec.fields[condition.field])
    low, high = bounds.get("min"), bounds.get("max")
    if low is None or high is None:
        return f"{label} ≥ {low}" if high is None else f"{label} ≤ {high}"
    return f"{label} is {low}" if low == high else f"{label} {low} to {high}"


def _read(view: CatalogueView, seen: Scope, query: str, as_words: Sequence[str]) -> ReadQuery:
    """Return the conditions that can be filtered by here; none where the query is the name of a record."""
    nothing = ReadQuery(stated=(), rest=query, is_known=False)
    if not query:
        return nothing
    vocabulary, known = _vocabulary(view, seen), filters_of(view.spec)
    read = read_query(query, vocabulary, unread=as_words)
    unknown = [
        stated.phrase for stated in read.stated if any(condition.field not in known for condition in stated.conditions)
    ]
    if unknown:
        read = read_query(query, vocabulary, unread=[*as_words, *unknown])
    return nothing if read.stated and _is_name(view, seen, query) else read


def _vocabulary(view: CatalogueView, seen: Scope) -> PreferenceVocabulary:
    this_year = view.catalogue.recommender.this_year()
    return preference_vocabulary(view.reader, view.spec, scope=seen, this_year=this_year)


def _is_name(view: CatalogueView, seen: Scope, query: str) -> bool:
    return any(match.likeness >= NAME_LIKE for match in view.reader.titles_like(query, scope=seen, limit=1))


def _add(condition: Condition, filters: dict[str, Any], exclude: dict[str, list[str]], spec: CatalogueSpec) -> bool:
    """Add a condition to the filters, and tell whether it holds: where it goes with none chosen by hand, those do."""
    name, chosen = condition.field, filters.get(condition.field)
    if isinstance(condition, NoneOf):
        exclude[name] = list(dict.fromkeys((*exclude.get(name, ()), *condition.values)))
        return True
    if isinstance(condition, Range):
        both: Any = (
            written_range(condition, spec.fields[name]) if chosen is None else _narrower(chosen, condition, spec)
        )
    elif chosen is None or spec.fields[name].filter is FilterKind.ALL_OF:
        both = list(dict.fromkeys((*(chosen or ()), *condition.values)))
    else:
        wanted = {term_of(value) for value in condition.values}
        both = [value for value in chosen if term_of(value) in wanted] if isinstance(chosen, list) else None
    if both:
        filters[name] = both
    return bool(both)


def _narrower(chosen: Any, stated: Range, spec: CatalogueSpec) -> dict[str, Any] | None:
    """Return what two ranges have in common; None where that is nothing."""
    by_hand = [condition for condition in parse_filters({stated.field: chosen}, spec) if isinstance(condition, Range)]
    ranges = [*by_hand[:1], stated]
    lows = [some.at_least for some in ranges if some.at_least is not None]
    highs = [some.at_most for some in ranges if some.at_most is not None]
    both = Range(stated.field, max(lows, default=None), min(highs, default=None))
    if both.at_least is not None and both.at_most is not None and both.at_least > both.at_most:
        return None
    return written_range(both, spec.fields[both.field])


def read_conditions(
    params: SearchParams, views: ByCatalogue[CatalogueView], principal: Principal
) -> tuple[SearchParams, Understood | None, list[str]]:
    """Return a call with the conditions that its query states as filters, what was understood, and notes."""
    if not params.read_conditions:
        return params, None, []
    view, seen = only_view(views, "read_conditions"), Scope(visibility=principal.visibility)
    understood, notes = understand_query(
        view,
        seen,
        "" if params.query == EVERY else params.query,
        filters=params.filters or {},
        exclude=params.exclude or {},
        as_words=params.as_words,
    )
    read = {"query": understood.query or EVERY, "filters": understood.filters, "exclude": understood.exclude}
    return params.model_copy(update=read), understood, notes
