"""The conditions that a query states for a catalogue, as filters that can be shown, taken back, and given to a tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, FieldType, FilterKind
from pinakes.model.scope import Condition, NoneOf, Range, Scope
from pinakes.recommend.vocabulary import preference_vocabulary
from pinakes.shelf.terms import term_of
from pinakes.text.query_conditions import ReadQuery, read_query
from pinakes.tools.aggregate.buckets import plain_number
from pinakes.tools.catalogue import CatalogueView
from pinakes.tools.explore.request import Explored
from pinakes.tools.filters import filters_of, parse_filters
from pinakes.tools.page.hits import label_of

NAME_LIKE = 0.75
"""The likeness to a record's name from which a query is that name, and states nothing: "No Game No Life"."""

LEFT_ASIDE = "'{phrase}' was left aside: it does not go with what you chose under {label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodPhrase:
    """Words of the query, the condition that they state in words, and its field."""

    phrase: str
    text: str
    field: str

    def plain(self) -> dict[str, str]:
        """Return the phrase as JSON values."""
        return {"phrase": self.phrase, "text": self.text, "field": self.field}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodQuery:
    """The words to search for, all filters and exclusions, and the phrases that some of them came from."""

    query: str
    filters: Mapping[str, Any]
    exclude: Mapping[str, Sequence[str]]
    understood: Sequence[UnderstoodPhrase] = ()
    only_orders: bool = False
    """Whether the words that are left name no more than a mood: they order what has the conditions."""
    notes: Sequence[str] = ()


def understand_query(view: CatalogueView, asked: Explored, scope: Scope) -> UnderstoodQuery:
    """Return the query without the conditions that it states, and these beside those that were asked for."""
    read = _read(view, asked, scope)
    filters, exclude = dict(asked.filters), {name: list(values) for name, values in asked.exclude.items()}
    understood, notes = [], []
    for one in read.stated:
        held = [condition for condition in one.conditions if _add(condition, filters, exclude, view.spec)]
        if held:
            text = ", ".join(describe(condition, view.spec) for condition in held)
            understood.append(UnderstoodPhrase(phrase=one.phrase, text=text, field=held[0].field))
        else:
            notes.append(LEFT_ASIDE.format(phrase=one.phrase, label=label_of(one.conditions[0].field)))
    return UnderstoodQuery(
        query=read.rest,
        filters=filters,
        exclude=exclude,
        understood=understood,
        only_orders=bool(understood) and read.is_known,
        notes=notes,
    )


def describe(condition: Condition, spec: CatalogueSpec) -> str:
    """Return a condition in a few words: "not horror", "Year ≥ 2011"."""
    if not isinstance(condition, Range):
        values = ", ".join(condition.values)
        return f"not {values}" if isinstance(condition, NoneOf) else f"{label_of(condition.field)}: {values}"
    label, bounds = label_of(condition.field), range_filter(condition, spec)
    low, high = bounds.get("min"), bounds.get("max")
    if low is None or high is None:
        return f"{label} ≥ {low}" if high is None else f"{label} ≤ {high}"
    return f"{label} is {low}" if low == high else f"{label} {low} to {high}"


def range_filter(condition: Range, spec: CatalogueSpec) -> dict[str, int | float | str]:
    """Return a range as the filter of a tool: a day number is a date."""
    is_date = spec.fields[condition.field].type is FieldType.DATE
    bounds = {"min": condition.at_least, "max": condition.at_most}
    return {
        name: date.fromordinal(int(bound)).isoformat() if is_date else plain_number(float(bound))
        for name, bound in bounds.items()
        if bound is not None
    }


def _read(view: CatalogueView, asked: Explored, scope: Scope) -> ReadQuery:
    """Return the conditions that can be filtered by here; none where the query is the name of a record."""
    nothing = ReadQuery(stated=(), rest=asked.query, is_known=False)
    if not asked.query:
        return nothing
    this_year = view.catalogue.recommender.this_year()
    vocabulary = preference_vocabulary(view.reader, view.spec, scope=scope, this_year=this_year)
    read, known = read_query(asked.query, vocabulary, unread=asked.unread), filters_of(view.spec)
    unknown = [one.phrase for one in read.stated if any(condition.field not in known for condition in one.conditions)]
    if unknown:
        read = read_query(asked.query, vocabulary, unread=[*asked.unread, *unknown])
    return nothing if read.stated and _is_name(view, asked.query, scope) else read


def _is_name(view: CatalogueView, query: str, scope: Scope) -> bool:
    return any(one.likeness >= NAME_LIKE for one in view.reader.titles_like(query, scope=scope, limit=1))


def _add(condition: Condition, filters: dict[str, Any], exclude: dict[str, list[str]], spec: CatalogueSpec) -> bool:
    """Add a condition to the filters, and tell whether it holds: where it goes with none chosen by hand, those do."""
    name, chosen = condition.field, filters.get(condition.field)
    if isinstance(condition, NoneOf):
        exclude[name] = list(dict.fromkeys((*exclude.get(name, ()), *condition.values)))
        return True
    if isinstance(condition, Range):
        both: Any = range_filter(condition, spec) if chosen is None else _narrower(chosen, condition, spec)
    elif chosen is None or spec.fields[name].filter is FilterKind.ALL_OF:
        both = list(dict.fromkeys((*(chosen or ()), *condition.values)))
    else:
        wanted = {term_of(value) for value in condition.values}
        both = [value for value in chosen if term_of(value) in wanted] if isinstance(chosen, list) else None
    if both:
        filters[name] = both
    return bool(both)


def _narrower(chosen: Any, stated: Range, spec: CatalogueSpec) -> dict[str, int | float | str] | None:
    """Return what two ranges have in common; None where that is nothing."""
    by_hand = next((one for one in parse_filters({stated.field: chosen}, spec) if isinstance(one, Range)), stated)
    lows = [one.at_least for one in (by_hand, stated) if one.at_least is not None]
    highs = [one.at_most for one in (by_hand, stated) if one.at_most is not None]
    both = Range(stated.field, max(lows, default=None), min(highs, default=None))
    if both.at_least is not None and both.at_most is not None and both.at_least > both.at_most:
        return None
    return range_filter(both, spec)
