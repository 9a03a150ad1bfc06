"""Results of `search` and `similar`, shaped from records: the telling fields, a text, and the page to cite."""

from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.model.record import Record
from pinakes.text.spelling import meant
from pinakes.tools.catalogue import FoundRecord, OpenCatalogue
from pinakes.tools.explain.why import shape_why
from pinakes.tools.generic.shapes import Found
from pinakes.tools.merge import Merged
from pinakes.tools.provenance import list_places
from pinakes.tools.record_text import find_page, plain_fields, summary_of, told_fields
from pinakes.tools.resources.records import address_of, uri_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundForm:
    """The form of a call's results: whole texts or their beginnings, and the fields that the call asked for."""

    whole: bool = False
    asked: Sequence[str] = ()


def shape_hits(items: Sequence[Merged], form: FoundForm) -> list[Found]:
    """Return the hits of a search as results."""
    origins = _origins([FoundRecord(item.view, item.hit.record) for item in items])
    shaped = []
    for item, origin in zip(items, origins, strict=True):
        hit = item.hit
        found = shape_record(item.view.catalogue, hit.record, form, score=hit.score, label=hit.label, origin=origin)
        shaped.append(found.model_copy(update={"why": shape_why(hit.why)}) if hit.why else found)
    return shaped


def shape_list(found: Sequence[FoundRecord], form: FoundForm) -> list[Found]:
    """Return listed records as results; each has fully what was asked for."""
    return [
        shape_record(view.catalogue, record, form, score=1.0, label=None, origin=origin)
        for (view, record), origin in zip(found, _origins(found), strict=True)
    ]


def _origins(found: Sequence[FoundRecord]) -> list[str | None]:
    """Return which file each record is from, read once for each catalogue."""
    records: dict[str, list[Record]] = {}
    for view, record in found:
        records.setdefault(view.name, []).append(record)
    places = {view.name: view.catalogue for view, _ in found}
    known = {name: list_places(catalogue, records[name]) for name, catalogue in places.items()}
    return [known[view.name].get(record.id) for view, record in found]


def shape_record(
    catalogue: OpenCatalogue, record: Record, form: FoundForm, *, score: float, label: str | None, origin: str | None
) -> Found:
    """Return a record as a result."""
    spec = catalogue.spec
    fields = told_fields(record, spec, asked=[meant(name, spec.fields) for name in form.asked])
    return Found(
        id=address_of(catalogue.name, record.id),
        title=spec.title_of(record),
        url=url_of(catalogue, record),
        catalogue=catalogue.name,
        score=round(score, 4),
        relevance=label,
        fields=plain_fields(record, fields),
        text=summary_of(record, spec, fields, whole=form.whole),
        origin=origin,
    )


def url_of(catalogue: OpenCatalogue, record: Record) -> str:
    """Return the record's own page, to be cited; the address of its resource where it has none."""
    return find_page(record, catalogue.spec) or uri_of(catalogue.name, record.id)
