"""Groups with their figures as a table in text."""

from collections.abc import Iterator

from stackroom.text.safe import safe_json
from stackroom.tools.aggregate.shapes import FIGURES, AggregateParts, BrowsedGroup, GroupedRecord
from stackroom.tools.plain_text import json_text, value_text


def aggregate_lines(parts: AggregateParts) -> Iterator[str]:
    """Yield the groups of a catalogue as lines, those of all records first."""
    overall, groups = parts.overall, parts.groups or []
    figures = [name for name in FIGURES if any(getattr(group, name) is not None for group in groups)]
    about = [*_overall(overall)] if overall is not None and (parts.of or overall.filters) else []
    if parts.of or about:
        yield f"  {': '.join([parts.number_in_words or 'all', *(['; '.join(about)] if about else [])])}"
    if groups:
        yield f"  {' | '.join([*groups[0].values, *_heads(groups, figures)])}"
        yield from (f"  {' | '.join(_cells(group, groups, figures))}" for group in groups)
    yield from (f"  {one.value} | {value_text(one.title)} [{one.id}]" for one in parts.ranked or ())
    if parts.group_count is not None:
        yield f"  {len(groups) + len(parts.ranked or ())} of {parts.group_count} {'groups' if groups else 'records'}"
    yield from (lacking_text(name, count) for name, count in parts.without.items())
    if parts.list_with is not None:
        yield f"  records: search with {_json(parts.list_with.model_dump(mode='json'))} and filters"


def lacking_text(name: str, count: int) -> str:
    """Return how many records have no value of a field."""
    return f"  {count} {'record has' if count == 1 else 'records have'} no {name}"


def _overall(group: BrowsedGroup) -> Iterator[str]:
    yield f"count {group.count}"
    if group.known is not None:
        yield f"known {group.known}"
    yield from (f"{name} {_figure(group, name)}" for name in FIGURES if getattr(group, name) is not None)
    if group.filters:
        yield f"filters {_json(group.filters)}"


def _heads(groups: list[BrowsedGroup], figures: list[str]) -> list[str]:
    return ["count", *(["known"] if _has_known(groups) else []), *figures, "filters"]


def _cells(group: BrowsedGroup, groups: list[BrowsedGroup], figures: list[str]) -> list[str]:
    known = [str(group.count if group.known is None else group.known)] if _has_known(groups) else []
    filters = "" if group.filters is None else _json(group.filters)
    values = [value_text(value) for value in group.values.values()]
    return [*values, str(group.count), *known, *(_figure(group, name) for name in figures), filters]


def _has_known(groups: list[BrowsedGroup]) -> bool:
    return any(group.known is not None for group in groups)


def _figure(group: BrowsedGroup, name: str) -> str:
    value = getattr(group, name)
    record: GroupedRecord | None = getattr(group, f"{name}_record", None)
    if value is None:
        return ""
    return f"{value} ({value_text(record.title)} [{record.id}])" if record else str(value)


def _json(value: object) -> str:
    """Return a value as JSON that is safe to show, also where JSON escapes a character."""
    return safe_json(json_text(value))
