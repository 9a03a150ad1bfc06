"""The answers of the music tools as text, with everything that their structured content has."""

from collections.abc import Iterable, Iterator
from typing import Any

from pinakes.api import describe_degraded, json_text, shown_id, value_text, why_lines
from pinakes_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from pinakes_catalogues.music.shapes import (
    Entry,
    FixGroup,
    GapItem,
    GetResult,
    Group,
    Page,
    PagesResult,
    PlaylistGroup,
    ProposedFix,
    SearchResult,
    Stats,
)

GROUPS = {ARTIST: "artists", ALBUM: "albums", TRACK: "tracks"}


def search_text(result: SearchResult) -> str:
    """Return the text of a search."""
    degraded = [describe_degraded(result.degraded)] if result.degraded else []
    lines = [*_iter_groups(result), f"evidence: {result.evidence}", *degraded, *result.notes]
    return result.with_evidence("\n".join(lines))


def get_text(result: GetResult) -> str:
    """Return the text of an answer of `catalog.get`."""
    lines = [f"{result.query_type}{f' of the catalogue {result.catalogue}' if result.catalogue else ''}:"]
    if result.item:
        lines += [f"{name}: {value_text(value)}" for name, value in result.item.items()]
    if result.stats:
        lines += _stats_lines(result.stats, result.offset)
    if result.query_type == "playlist":
        lines.append(f"{clock(result.seconds or 0.0)} in all")
    lines += _iter_groups(result)
    for gap in result.gaps or ():
        lines += [f"{gap.gap} ({_counted(gap, result)}):", *(_gap_line(one) for one in gap.items)]
    if result.fixes:
        lines += _fix_lines(result.fixes, result)
    if result.playlists:
        lines += _playlist_lines(result.playlists, result)
    if result.query_type == "gaps" and not result.gaps:
        lines.append("none")
    return "\n".join([*lines, *result.notes])


def clock(seconds: float) -> str:
    """Return a length as `4:05 = 245.0 s` or `1:02:03 = 3723.0 s`."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    shown = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{shown} = {seconds} s"


def _iter_groups(result: PagesResult) -> Iterator[str]:
    for name in GROUPS.values():
        group: Group | None = getattr(result, name)
        if group is not None:
            yield f"{name} ({_counted(group, result)}):"
            yield from (f"- {_line(one)}{_why(one)}" for one in group.items)
            yield from (f"- nearest: {_line(one)}{_why(one)}" for one in group.nearest)


def _counted(page: Page, result: PagesResult) -> str:
    """Return how many items a list has, and how to get those after the page."""
    return (
        f"{page.total}, has more with offset {result.offset + result.item_count}" if page.has_more else f"{page.total}"
    )


def _why(one: Entry) -> str:
    return "".join(f"\n  {line}" for line in why_lines(one.why))


def _line(one: Entry) -> str:
    number = f"{one.position}. " if one.position else ""
    return f"{number}{one.name}{_by(one.artists)}{_in_brackets(_details(one))} [{shown_id(one.id, one.catalogue)}]"


def _details(one: Entry) -> list[str]:
    details = [f"album: {_on_one_line(one.album)}"] if one.album else []
    for name, number in (("disc", one.disc), ("year", one.year), ("plays", one.plays)):
        if number is not None:
            details.append(f"{name}: {number}")
    if one.genres:
        details.append(f"genres: {', '.join(one.genres)}")
    if one.seconds:
        details.append(clock(one.seconds))
    if one.playable:
        details.append("playable")
    if one.score is not None:
        details.append(f"score: {one.score}")
    return details


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _by(artists: list[str] | None) -> str:
    return f" – {', '.join(artists)}" if artists else ""


def _in_brackets(parts: Iterable[str]) -> str:
    joined = "; ".join(parts)
    return f" ({joined})" if joined else ""


def _gap_line(one: GapItem) -> str:
    values: dict[str, Any] = {"album": one.album, "missing": one.missing, "year": one.year}
    details = (f"{name}: {value_text(value)}" for name, value in values.items() if value)
    ids = one.ids or ([one.id] if one.id else [])
    shown = f" [{', '.join(ids)}]" if ids else ""
    enter = f"; enter it with catalog.mutate {json_text(one.request)}" if one.request else ""
    return f"- {one.name}{_by(one.artists)}{_in_brackets(details)}{shown}{enter}"


def _fix_lines(fixes: FixGroup, result: GetResult) -> list[str]:
    where = f'"catalogue": "{result.catalogue}", ' if result.catalogue else ""
    them = "them without catalogue" if result.catalogue else "them"
    return [
        f"fixes ({_counted(fixes, result)}), each with the arguments of catalog.mutate that apply it; several in one "
        f'call: {{{where}"changes": [{them}]}}:',
        *(line for fix in fixes.items for line in _iter_fix(fix)),
    ]


def _iter_fix(fix: ProposedFix) -> Iterator[str]:
    yield f"- {json_text(fix.request)}"
    yield f"  replaces {json_text(fix.replaces)}; {'; '.join(fix.reasons)}"


def _playlist_lines(playlists: PlaylistGroup, result: GetResult) -> list[str]:
    lines = [f"playlists ({_counted(playlists, result)}):"]
    for one in playlists.items:
        changed_at = one.model_dump(mode="json")["updated_at"]
        rule = f"; rule: {json_text(one.rule)}" if one.rule else ""
        lines.append(f"- {_on_one_line(one.name)} (tracks: {one.tracks}{rule}; updated_at: {changed_at}) [{one.id}]")
    return lines


def _stats_lines(stats: Stats, offset: int) -> list[str]:
    years = f", {stats.first_year}–{stats.last_year}" if stats.first_year is not None else ""
    genres = ", ".join(f"{one.genre} ({one.tracks})" for one in stats.genres)
    end = offset + len(stats.genres)
    more = f", has more with offset {end}" if end < stats.genres_total else ""
    decades = ", ".join(f"{decade} ({count})" for decade, count in stats.decades.items())
    return [
        f"{stats.artists} artists, {stats.albums} albums, {stats.tracks} tracks, {clock(stats.seconds)}{years}",
        f"genres ({stats.genres_total}{more}): {genres}",
        f"decades: {decades}",
        f"tracks without year: {stats.tracks_without_year}",
    ]
