"""What `search` finds, and what an answer says of it: notes, and for pages counts, facets and keys,
and of a catalogue what it is.

Without words a set has every record in scope, exactly. A search has its best, as deep as its pages
reach, or a few where nothing answers. Words that name no more than a mood leave no record out that
has the filters: they order them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.column_words import label_of
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.browse import (
    BrowsedCatalogue,
    BrowseResult,
    CatalogueOverview,
    FirstRecord,
    OverviewField,
)
from stackroom.generic.buckets import round_width, usual_range
from stackroom.generic.maps import in_area
from stackroom.generic.record import describe_field, find_image
from stackroom.generic.record_text import number_in_words, table_columns
from stackroom.generic.shapes import (
    Bar,
    Facet,
    FacetValue,
    LeftOut,
    SearchParams,
    Understood,
    UnderstoodPhrase,
)
from stackroom.model.hits import EVIDENCE_AT, Evidence, Ranking
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, NoneOf, Range, Scope
from stackroom.search.question import (
    ReadQuestion,
    View,
    list_in_scope,
    plain_reading,
    sortable_fields,
)
from stackroom.search.result_set import Part, ResultSet, list_part, unread_notes
from stackroom.search.values import adult_conditions, field_values
from stackroom.shelf.terms import term_of
from stackroom.text.cells.values import bounds_of, text_of
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    address_of,
    ask_each,
    promise_notes,
)
from stackroom.tools.filters import (
    ADULT,
    BOUNDS,
    KIND,
    filters_of,
    shown_number,
    stated_filters,
    useful_filters,
)
from stackroom.tools.finding import CatalogueScopes, ScopeRequest, fitting_notes, scope_of
from stackroom.tools.media import CallerMedia, MediaKind
from stackroom.tools.reading import EVERY, is_list, read_question
from stackroom.tools.spec import verdict_of

MOST_KEYS = 250_000
# how many hits of a search are looked at for the records with evidence beyond those that it lists
DEEP = 400


def _require_only(names: Collection[str], argument: str) -> None:
    """Refuse an argument that needs a catalogue to be chosen, unless there is one of them."""
    if len(names) != 1:
        raise InputError(f"'{argument}' needs a 'catalogue'; there are {', '.join(names)}")


def only_part(found: ResultSet, argument: str) -> Part:
    """Return the only part; raise InputError where an argument needs a catalogue to be chosen."""
    _require_only([part.view.name for part in found.parts], argument)
    return found.parts[0]


def find_records(params: SearchParams, scoped: CatalogueScopes, *, pool: Executor) -> ResultSet:
    """Return what a call finds: named records, a list, or a search merged by strength."""
    views = scoped.views
    is_single = len(views.found) == 1
    for argument in ("ids", "sort", "area"):
        if getattr(params, argument):
            _require_only(views.found, argument)
    if params.ids:
        (view,) = views.found.values()
        return ResultSet(
            parts=[_named_part(view, scoped.scopes[view.name], params.ids)], lists=True
        )

    def read(view: CatalogueView, given: Scope) -> ReadQuestion:
        scope = in_area(view, given, params.area) if params.area else given
        if is_list(params.query):
            reading = replace(plain_reading(params.query, scope), query="")
        elif params.read_conditions:
            reading = read_question(view, params.query, scope, as_words=params.as_words)
        else:
            reading = plain_reading(params.query, scope)
        filters = {*(params.filters or ()), *(params.exclude or ())} - {ADULT}
        limits = filters or params.area or reading.conditions
        return replace(
            reading,
            sort=params.sort or reading.sort,
            may_order=is_single and reading.names_moods and bool(limits),
            likely=() if is_single and reading.is_list else reading.likely,
        )

    found = scoped.find(read=read, pool=pool)
    lists_all = is_single and found.parts[0].ranked is None
    return replace(found, lists=lists_all or is_list(params.query))


def _named_part(view: CatalogueView, scope: Scope, ids: Iterable[str]) -> Part:
    """Return records by their ids, in this order; those that may not be seen are left out."""
    stated = [RecordId(one.removeprefix(f"{view.name}/")) for one in dict.fromkeys(ids)]
    known = view.reader.find(stated, scope=Scope(visibility=scope.visibility))
    keys = np.array([known[one] for one in stated if one in known], dtype=np.int64)
    ranking = Ranking(keys=keys, scores=np.ones(len(keys)), total=len(keys))
    return Part(view=view, reading=plain_reading("", scope), ranking=ranking, is_graded=False)


def list_ids(found: ResultSet, part: Part) -> list[str]:
    """Return the ids of the whole set of one catalogue, and after them those of all further records
    with evidence, best first.
    """
    keys = found.keys()
    if not found.is_list and found.evidence is not Evidence.NONE:
        deeper = part.found_again(part.reading.scope, limit=DEEP).ranking
        further = deeper.keys[deeper.scores >= EVIDENCE_AT].tolist()
        keys = list(dict.fromkeys((*keys, *further)))
    return [address_of(part.view.name, one) for one in part.view.reader.ids(keys[:MOST_KEYS])]


def count_left_out(scopes: Iterable[tuple[View, Scope]]) -> LeftOut:
    """Return how many records that the caller may see are not in the scopes, each counted for the
    first reason.
    """
    adult = hidden = filtered = 0
    for view, scope in scopes:
        of_adults = adult_conditions(view.spec)
        usual = NoneOf(KIND_FIELD, view.spec.kinds_hidden_from_search)
        without_adult = [condition for condition in scope.conditions if condition not in of_adults]
        stated = [condition for condition in without_adult if condition != usual]
        steps = [
            replace(scope, conditions=tuple(some))
            for some in ((), stated, without_adult, scope.conditions)
        ]
        every, *counts = (view.reader.count(step) for step in steps)
        promises = view.reader.promises
        if promises is None or max(counts) <= promises.facets_up_to:  # else not all were counted
            filtered += every - counts[0]
            hidden += counts[0] - counts[1]
            adult += counts[1] - counts[2]
    return LeftOut(adult=adult, hidden=hidden, filtered=filtered)


NOTHING_LISTED = "no record has these filters and words"
ONLY_ORDERS = (
    "'{query}' only orders: all {count:,} records with the filters are listed, the nearest first"
)


def answer_notes(params: SearchParams, found: ResultSet) -> list[str]:
    """Return notes on whether there is an answer, on how the call was understood, and on what was
    not read or listed; pages draw what was understood.
    """
    verdict, understood = [], found.question_notes
    if found.only_orders:
        verdict = [ONLY_ORDERS.format(query=params.query, count=found.listed)]
    elif found.evidence is Evidence.NONE:
        verdict = [verdict_of(found.mode) if found.searched else NOTHING_LISTED]
    if "tiles" in params.include:
        understood = [doubt for part in found.parts for doubt in part.reading.doubts]
    is_cut = found.searched and params.filters and not found.only_orders
    return [
        *verdict,
        *understood,
        *found.filter_notes,
        *unread_notes(found.unread),
        *found.word_notes,
        *found.degraded_notes,
        *(fitting_notes(found, as_read=True) if is_cut else ()),
        *promise_notes(part.view for part in found.parts),
    ]


def understood_of(reading: ReadQuestion, params: SearchParams, spec: CatalogueSpec) -> Understood:
    """Return a question as it was read, with all filters and exclusions."""
    filters, stated = stated_filters(reading.conditions, spec)
    exclude: dict[str, list[Any]] = {}
    for name, some in (*(params.exclude or {}).items(), *stated.items()):
        values = some if isinstance(some, list | tuple) else [some]
        exclude[name] = list(dict.fromkeys((*exclude.get(name, ()), *values)))
    return Understood(
        query="" if reading.query == EVERY else reading.query,
        filters={**(params.filters or {}), **filters},
        exclude=exclude,
        phrases=[UnderstoodPhrase.model_validate(one) for one in reading.phrases],
    )


MOST_BARS = 24
MOST_SINGLE = 60  # whole numbers that reach no further than this have a bar for each
DAYS_OF_A_YEAR = 366

Numbers = NDArray[np.float64]


def draw_histogram(numbers: Numbers, field: FieldSpec) -> dict[str, Any] | None:
    """Return the least and the greatest number, and the bars between; None where no record has a
    number.
    """
    known = np.sort(numbers[np.isfinite(numbers)])
    if not known.size:
        return None
    least, greatest = float(known[0]), float(known[-1])
    starts = _day_starts(least, greatest) if field.type is FieldType.DATE else _starts(known, field)
    counts = np.diff(np.searchsorted(known, [*starts, np.inf], side="left")).tolist()
    # of whole numbers and days a bar ends with the one before the next bar
    gap, has_unit = 0 if field.type is FieldType.FLOAT else 1, field.unit or field.time_unit
    ends = [*(start - gap for start in starts[1:]), greatest]
    bars = [
        Bar(
            first=shown_number(start, field),
            last=shown_number(end, field),
            count=count,
            words=[number_in_words(one, field) for one in (start, end)] if has_unit else None,
        )
        for start, end, count in zip(starts, ends, counts, strict=True)
    ]
    return {"min": shown_number(least, field), "max": shown_number(greatest, field), "bars": bars}


def _starts(known: Numbers, field: FieldSpec) -> list[float]:
    """Return where each bar begins; the first begins at the least number, and the last has all that
    is beyond.
    """
    low, high = usual_range(known)
    is_whole = field.type is FieldType.INT
    width = (
        1.0 if is_whole and high - low < MOST_SINGLE else _bar_width(high - low, is_whole=is_whole)
    )
    first, last = np.floor(low / width), np.floor(high / width)
    inner = [float(f"{step * width:.15g}") for step in np.arange(first + 1, last + 1)]
    return [float(known[0]), *(start for start in inner if start > known[0])]


def _bar_width(reach: float, *, is_whole: bool) -> float:
    return float(round_width(reach, is_whole=is_whole, parts=MOST_BARS)) if reach else 1.0


def _day_starts(least: float, greatest: float) -> list[float]:
    """Return the first day of each year or month, or of several."""
    first, last = date.fromordinal(int(least)), date.fromordinal(int(greatest))
    if greatest - least < 2 * DAYS_OF_A_YEAR:
        months = range(first.year * 12 + first.month, last.year * 12 + last.month)
        starts = [date(month // 12, month % 12 + 1, 1) for month in months]
    else:
        width = max(1, int(_bar_width(last.year - first.year, is_whole=True)))
        starts = [
            date(year, 1, 1)
            for year in range(-(-(first.year + 1) // width) * width, last.year + 1, width)
        ]
    return [least, *(float(start.toordinal()) for start in starts if start.toordinal() > least)]


MOST_FACETS = 16
VALUES_SHOWN = 12
VALUES_LIKE = 40  # how many values are shown to someone who looks for one
VALUES_OF_ONE = 10_000  # how many values are listed of a facet that is asked for by itself


@dataclass(frozen=True, kw_only=True)
class FacetedSet:
    """A result set of one catalogue, as far as its facets are concerned."""

    found: ResultSet
    part: Part
    view: View
    scope: Scope
    is_searched: bool
    """Whether it has only some of the records in scope."""
    params: SearchParams
    """The call, with its filters and exclusions, and the field or the text that values are looked
    for by.
    """

    @cached_property
    def keys(self) -> Sequence[Key]:
        """The records of the set."""
        return self.found.keys()

    def count_facets(self) -> list[Facet]:
        """Return the facets, the most useful first; only that of one field where it is named."""
        known, only = filters_of(self.view.spec), self.params.facet
        useful = [
            *([KIND] if KIND in known else ()),
            *(field.name for field in useful_filters(self.view.spec)),
        ]
        stated = {*(self.params.filters or ()), *(self.params.exclude or ())}
        chosen = [name for name in known if name in stated]
        if only and only not in known:
            hint, there = did_you_mean(only, list(known)), ", ".join(known) or "none"
            raise InputError(
                f"'facet': no field '{only[:60]}'{hint} to filter by; there are {there}"
            )
        names = [only] if only else dict.fromkeys((*useful, *chosen))
        facets = (self._facet(name, known[name]) for name in names)
        return [facet for facet in facets if facet is not None][:MOST_FACETS]

    def _facet(self, name: str, field: FieldSpec) -> Facet | None:
        filters, like = self.params.filters or {}, self.params.like
        label = self.view.spec.labels.get(name) or label_of(name)
        about: dict[str, Any] = {"field": name, "label": label, "type": field.type.value}
        if field.filter is FilterKind.RANGE:
            drawn = draw_histogram(
                self.view.reader.numbers(field.name, self._other_keys(field)), field
            )
            chosen = filters.get(name) or {}
            low, high = (
                chosen.get(end) if isinstance(chosen, Mapping) else chosen for end in BOUNDS
            )
            return None if drawn is None else Facet(**about, **drawn, low=low, high=high)
        wanted, left_out = _terms(filters.get(name)), _terms((self.params.exclude or {}).get(name))
        counts = self._counts(field, wanted)
        each_has_its_own = len(counts) > VALUES_SHOWN and max(counts.values()) == 1
        # values that part nothing
        if not (wanted or left_out or (counts and not each_has_its_own)):
            return None
        most = VALUES_LIKE if like else VALUES_OF_ONE if self.params.facet else VALUES_SHOWN
        alike = self._like(field, counts) if like else counts
        values = _values(alike, wanted, left_out, most=most)
        values = sorted(values, key=lambda one: bounds_of(one.value)) if field.brackets else values
        return Facet(**about, values=values, total=len(counts))

    def _counts(self, field: FieldSpec, wanted: set[str]) -> Counter[str]:
        """Return how many records of the set have each value; of further ones, how many would be
        found with them.
        """
        others = self._counts_in(field, self._other_scope(field), self._other_keys(field))
        if not wanted or not self.is_searched:
            return others
        listed = self._counts_in(field, self.scope, self.keys)
        chosen = {value: count for value, count in listed.items() if term_of(value) in wanted}
        return Counter({**others, **chosen})

    def _counts_in(self, field: FieldSpec, scope: Scope, keys: Sequence[Key]) -> Counter[str]:
        if not self.is_searched:
            counts: Counter[str] = Counter()
            for facet in self.view.reader.facets(field.name, scope=scope):
                counts[facet.value] += facet.count
            return counts
        found = self.view.reader.occurrences(field.name, scope=scope)
        here = np.isin(found.keys, np.array(keys, dtype=np.int64))
        each = np.bincount(found.indexes[here], minlength=len(found.values)).tolist()
        return Counter(
            {value: count for value, count in zip(found.values, each, strict=True) if count}
        )

    def _like(self, field: FieldSpec, counts: Counter[str]) -> Counter[str]:
        """Return the values that are like the text they are looked for by; none may be."""
        like, visibility = self.params.like, self.scope.visibility
        values = field_values(self.view.reader, self.view.spec, field.name, visibility=visibility)
        begun = [value for value in counts if term_of(like) in term_of(value)]
        alike = (value for value in values.matching(like) if value in counts)
        return Counter({value: counts[value] for value in (*begun, *alike)})

    def _other_scope(self, field: FieldSpec) -> Scope:
        """Return the scope without what is wanted of a field, unless a further value of it finds
        fewer records.
        """
        if field.filter is FilterKind.ALL_OF:
            return self.scope
        kept = [
            one
            for one in self.scope.conditions
            if not (isinstance(one, AnyOf | Range) and one.field == field.name)
        ]
        return replace(self.scope, conditions=tuple(kept))

    def _other_keys(self, field: FieldSpec) -> Sequence[Key]:
        """Return the records that are found whatever is wanted of a field."""
        scope = self._other_scope(field)
        if scope == self.scope or not self.part.again:
            return self.keys
        if not self.is_searched:
            return list_in_scope(self.view, scope)
        return replace(self.found, parts=[self.part.found_again(scope)]).keys()


def _terms(values: Any) -> set[str]:
    given = values if isinstance(values, list | tuple) else [] if values is None else [values]
    return {term_of(text_of(value) if isinstance(value, bool) else str(value)) for value in given}


def _values(
    counts: Counter[str], chosen: set[str], left_out: set[str], *, most: int
) -> list[FacetValue]:
    """Return the most frequent values, with those that were chosen or left out among them."""
    terms = {
        value: term_of(value) for value in sorted(counts, key=lambda value: (-counts[value], value))
    }
    terms |= {gone: gone for gone in sorted(left_out.difference(terms.values()))}
    return [
        FacetValue(
            value=value, count=counts[value], chosen=term in chosen, excluded=term in left_out
        )
        for place, (value, term) in enumerate(terms.items())
        if place < most or term in chosen | left_out
    ]


MOST_PLAYED, MOST_LOOKED_AT = 50, 2_000


def result_parts(params: SearchParams, found: ResultSet, media: CallerMedia) -> dict[str, Any]:
    """Return the parts of an answer for pages that are asked for."""
    parts: dict[str, Any] = {}
    if "counts" in params.include:
        scopes = [(one.view, one.reading.scope) for one in found.parts]
        parts = {name: getattr(found, name) for name in ("only_orders", "listed", "by_catalogue")}
        parts["left_out"] = count_left_out(scopes)
    if "facets" in params.include:
        part = only_part(found, "facets")
        faceted = FacetedSet(
            found=found,
            part=part,
            view=part.view,
            scope=part.reading.scope,
            is_searched=not (found.is_list and part.is_graded),
            params=params,
        )
        parts["facets"] = faceted.count_facets()
    if "keys" in params.include:
        parts["keys"] = list_ids(found, only_part(found, "keys"))
    if "playable" in params.include:
        part = only_part(found, "playable")
        ids = list_ids(found, part)[:MOST_LOOKED_AT]
        bare = (one.removeprefix(f"{part.view.name}/") for one in ids[: found.total])
        files = (one for one in bare if media.find_file_in(part.view.name, one, MediaKind.AUDIO))
        parts["playable"] = list(islice(files, MOST_PLAYED))
    return parts


SAMPLES = 5
LATEST_CHANGES = 100
TAGS_SHOWN = 3


def describe_catalogues(
    views: ByCatalogue[CatalogueView], whole: ScopeRequest, media: CallerMedia
) -> BrowseResult:
    """Return every catalogue in short; one that cannot be read is only named."""
    each = ask_each(
        views.found, lambda view: _describe_catalogue(view, scope_of(view, whole)[0], media)
    )
    unread = [*views.skipped, *each.skipped]
    return BrowseResult(
        catalogues=list(each.found.values()), unread=unread, notes=unread_notes(unread)
    )


def _describe_catalogue(view: CatalogueView, scope: Scope, media: CallerMedia) -> BrowsedCatalogue:
    """Return a catalogue in short; `scope` is that of a list without filters."""
    first = [hit.record for hit in list_part(view, plain_reading(EVERY, scope)).hits(SAMPLES)]
    title_of, name, seen = view.spec.title_of, view.name, Scope(visibility=scope.visibility)
    overview = CatalogueOverview(
        summary=view.spec.summary,
        kinds=list(view.spec.kinds),
        listed=view.reader.count(scope),
        left_out=count_left_out([(view, scope)]),
        has_vectors=view.reader.model is not None,
        has_audio=media.has_audio_of(view.name),
        samples=_sample_queries(view, scope, first),
        first=[
            FirstRecord(title=title_of(one), kind=one.kind, image=find_image(name, one.id, media))
            for one in first
        ],
        changed_at=_changed_at(view, seen),
        fields=_describe_fields(view.spec),
    )
    records, title = view.reader.count(seen), view.spec.title
    return BrowsedCatalogue(
        name=view.name, title=title, records=records, fields=[], overview=overview
    )


def _changed_at(view: CatalogueView, seen: Scope) -> str | None:
    """Return when a record that the caller may see was last changed; None if none of the latest
    changes was of one.
    """
    sees_all = view.reader.count(seen) == view.reader.count(WHOLE)
    latest = view.catalogue.shelf.history().list_changes(limit=1 if sees_all else LATEST_CHANGES)
    visible = view.reader.find([change.id for change in latest], scope=seen)
    return next(
        (change.at.isoformat() for change in latest if sees_all or change.id in visible), None
    )


def _describe_fields(spec: CatalogueSpec) -> list[OverviewField]:
    filters, sortable = filters_of(spec), {field.name for field in sortable_fields(spec)}
    kind = {KIND: filters[KIND]} if KIND in filters else {}
    columns = {field.name: field for field in (spec.title_field, *table_columns(spec))}
    return [
        OverviewField(
            **describe_field(spec, name, field),
            sortable=name in sortable,
            words={
                value: said for value in field.values if (said := field.in_words(value)) != value
            },
        )
        for name, field in {**kind, **columns, **filters}.items()
    ]


def _sample_queries(view: CatalogueView, scope: Scope, first: Sequence[Record]) -> list[str]:
    """Return queries to begin with: declared ones, or frequent tags in pairs and names of the best
    known records.
    """
    if view.spec.samples:
        return list(view.spec.samples)
    columns = view.spec.column_fields
    tags = [field for field in columns if field.type is FieldType.TAGS and field.facet]
    facets = view.reader.facets(tags[0].name, scope=scope)[: 2 * TAGS_SHOWN] if tags else []
    paired = [
        f"{one.value} {other.value}" for one, other in zip(facets[::2], facets[1::2], strict=False)
    ]
    return list(dict.fromkeys((*paired, *map(view.spec.title_of, first))))[:SAMPLES]
