"""Plays of records summed by the records that they name or by a field, and the records that were never played."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.analytics.reports import UNKNOWN, Play
from stackroom.catalogue.spec import CatalogueSpec, texts_of
from stackroom.errors import InputError, did_you_mean
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.tools.catalogue import CatalogueView, address_of

SCANNED_AT_ONCE = 10_000
MOST_SHOWN_FIELDS = 12


@dataclass(slots=True, kw_only=True)
class _Group:
    """The plays of everything that names one value."""

    plays: int = 0
    seconds: int = 0
    users: set[str] = field(default_factory=set)
    records: set[str] = field(default_factory=set)

    def add(self, play: Play) -> None:
        self.plays += play.plays
        self.seconds += play.seconds
        self.users.add(play.user)
        self.records.add(play.id)

    def counts(self) -> dict[str, int]:
        return {
            "plays": self.plays,
            "seconds": self.seconds,
            "listeners": len(self.users),
            "records": len(self.records),
        }


class PlayedRecords:
    """Plays, with the records of the catalogues that a caller sees."""

    def __init__(self, views: Sequence[CatalogueView], scope: Scope) -> None:
        self._views = {view.name: view for view in views}
        self._scope = scope

    def rows_by(self, by: str, plays: Sequence[Play]) -> list[dict[str, Any]]:
        """Return the plays summed by the records of a kind that the played ones name, or by the values of a field."""
        self._require_known(by)
        groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
        for name, view in self._views.items():
            here = [play for play in plays if play.catalogue in (name, UNKNOWN)]
            records = self._find_records(view, {RecordId(play.id) for play in here})
            for play in here:
                record = records.get(RecordId(play.id))
                for value in () if record is None else values_by(view.spec, record, by):
                    groups[name, value].add(play)
        most_first = sorted(groups.items(), key=lambda one: (-one[1].plays, -one[1].seconds, one[0]))
        titles = self._titles_of(by, groups)
        return [{**_label(by, place, titles), **group.counts()} for place, group in most_first]

    def unplayed_rows(
        self, kind: str | None, plays: Sequence[Play], *, offset: int, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Return a page of the records that were not played, of a kind or of those kinds that are, and their number."""
        if kind is not None:
            self._require_kind(kind)
        rows: list[dict[str, Any]] = []
        total = 0
        for name, view in self._views.items():
            played = {play.id for play in plays if play.catalogue in (name, UNKNOWN)}
            kinds = [kind] if kind else self._kinds_of(view, played)
            missing = self._find_unplayed(view, [one for one in kinds if one in view.spec.kinds], played)
            start = max(offset - total, 0)
            page = missing[start : start + limit - len(rows)]
            records = view.reader.fetch(page, scope=self._scope)
            rows += [_described(view, records[key]) for key in page if key in records]
            total += len(missing)
        return rows, total

    def _find_records(self, view: CatalogueView, ids: Iterable[RecordId]) -> dict[RecordId, Record]:
        keys = view.reader.find(sorted(ids), scope=self._scope)
        records = view.reader.fetch(list(keys.values()), scope=self._scope)
        return {record.id: record for record in records.values()}

    def _kinds_of(self, view: CatalogueView, played: Iterable[str]) -> list[str]:
        found = self._find_records(view, [RecordId(one) for one in played])
        return sorted({record.kind for record in found.values()})

    def _find_unplayed(self, view: CatalogueView, kinds: Sequence[str], played: set[str]) -> list[Key]:
        if not kinds:
            return []
        scope = self._scope.narrowed(AnyOf(KIND_FIELD, tuple(kinds)))
        found: list[Key] = []
        last: Key | None = None
        while keys := view.reader.scan(scope=scope, after=last, limit=SCANNED_AT_ONCE):
            ids = view.reader.ids(keys)
            found += [key for key, record_id in zip(keys, ids, strict=True) if record_id not in played]
            last = keys[-1]
        return found

    def _titles_of(self, by: str, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the titles of the records that groups are about; none where the groups are values of a field."""
        wanted: dict[str, set[RecordId]] = defaultdict(set)
        for name, value in places:
            if _leads_to(self._views[name].spec, by):
                wanted[name].add(RecordId(value))
        return {
            (name, record_id): self._views[name].spec.title_of(record)
            for name, ids in wanted.items()
            for record_id, record in self._find_records(self._views[name], ids).items()
        }

    def _require_known(self, by: str) -> None:
        specs = [view.spec for view in self._views.values()]
        if any(_leads_to(spec, by) or by in spec.fields for spec in specs):
            return
        kinds = sorted({relation.to for spec in specs for relation in spec.relations})
        fields = list(dict.fromkeys(name for spec in specs if spec.relations for name in spec.fields))
        hint = did_you_mean(by, [*kinds, *fields])
        raise InputError(f"'by': no '{by[:60]}'{hint}; there are {_listed([*kinds, *fields[:MOST_SHOWN_FIELDS]])}")

    def _require_kind(self, kind: str) -> None:
        kinds = sorted({one for view in self._views.values() for one in view.spec.kinds})
        if kind not in kinds:
            raise InputError(f"'by': no kind '{kind[:60]}'{did_you_mean(kind, kinds)}; there are {_listed(kinds)}")


def values_by(spec: CatalogueSpec, record: Record, by: str) -> list[str]:
    """Return the values that a record counts for: ids of the records of a kind that it names, or values of a field."""
    relations = [one for one in spec.relations if one.to == by and one.kind == record.kind]
    fields = [relation.field for relation in relations] or ([by] if by in spec.fields else [])
    return list(dict.fromkeys(value for name in fields for value in texts_of(record.get(name))))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none that you see"


def _leads_to(spec: CatalogueSpec, kind: str) -> bool:
    return any(relation.to == kind for relation in spec.relations)


def _label(by: str, place: tuple[str, str], titles: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    name, value = place
    if place in titles:
        return {"id": address_of(name, RecordId(value)), "title": titles[place]}
    return {by: value}


def _described(view: CatalogueView, record: Record) -> dict[str, Any]:
    return {"id": address_of(view.name, record.id), "title": view.spec.title_of(record), "kind": record.kind}
