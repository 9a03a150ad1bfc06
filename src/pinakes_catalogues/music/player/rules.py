"""Rules of playlists: a saved search of tracks, run again whenever the playlist is asked for."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from pinakes.api import (
    Asked,
    Gathered,
    InputError,
    QueryText,
    Record,
    Scope,
    ToolParams,
    parse_exclusions,
    parse_filters,
    require_excludable,
    scope_each,
)
from pinakes_catalogues.music.grouping import TRACK
from pinakes_catalogues.music.library import MusicLibrary, album_order
from pinakes_catalogues.music.search import search_kinds
from pinakes_catalogues.music.shapes import MOST, SearchParams

LONGEST_QUERY = 1_000
NUL = "\0"


class RuleParams(ToolParams):
    """A saved search: words, filters, or both."""

    model_config = ConfigDict(alias_generator=None)

    query: QueryText = Field(default="", max_length=LONGEST_QUERY)
    filters: dict[str, Any] = Field(default_factory=dict)
    exclude: dict[str, Any] = Field(default_factory=dict)


def read_rule(libraries: Mapping[str, MusicLibrary], stated: Any) -> dict[str, Any]:
    """Return a rule as it is kept, without its empty parts; refuse one that could not be run."""
    rule = _parse(stated)
    if NUL in rule.model_dump_json().replace("\\u0000", NUL):
        raise InputError("'rule' contains U+0000, which cannot be stored; leave it out")
    run_rule(libraries, rule.model_dump(), limit=1)
    return {name: value for name, value in rule.model_dump().items() if value}


def run_rule(
    libraries: Mapping[str, MusicLibrary], stated: Mapping[str, Any], *, limit: int = MOST
) -> list[tuple[Record, str]]:
    """Return the tracks that a rule finds now, the best first, each with the name of its catalogue."""
    rule = _parse(stated)
    scopes = _scopes(libraries, rule)
    found = [
        (score, record, name)
        for name, scope in scopes.items()
        for score, record in _find(libraries[name].narrowed(scope.conditions), rule, limit)
    ]
    best = sorted(found, key=lambda one: -one[0]) if rule.query else found
    return [(record, name) for _, record, name in best[:limit]]


def _parse(stated: Any) -> RuleParams:
    try:
        rule = RuleParams.model_validate(stated)
    except ValidationError as error:
        raise InputError(
            '\'rule\' must be a search: {"query": …, "filters": {…}, "exclude": {…}}, of which any may be left out'
        ) from error
    if not (rule.query or rule.filters or rule.exclude):
        raise InputError("'rule' is empty: give a 'query', 'filters' or both")
    return rule


def _scopes(libraries: Mapping[str, MusicLibrary], rule: RuleParams) -> Mapping[str, Scope]:
    """Return the scope of a rule in each catalogue that has its values."""
    views = {name: library.view for name, library in libraries.items()}
    try:
        require_excludable(rule.exclude, [view.spec for view in views.values()])
        asked = Asked(
            query=rule.query,
            visibility=next(iter(libraries.values())).principal.visibility,
            conditions=lambda spec: [*parse_filters(rule.filters, spec), *parse_exclusions(rule.exclude, spec)],
        )
        return scope_each(Gathered(found=views, skipped=[]), asked).scopes
    except InputError as error:
        raise InputError(f"'rule': {error.message}") from error


def _find(library: MusicLibrary, rule: RuleParams, limit: int) -> list[tuple[float, Record]]:
    """Return the tracks of one catalogue with their scores: those that answer the words, else all in album order."""
    if not rule.query:
        keys = library.reader.scan(scope=library.scope(TRACK), limit=limit)
        return [(0.0, record) for record in sorted(library.fetch(keys), key=album_order)]
    params = SearchParams(query=rule.query, kind="track", limit=min(limit, MOST))
    hits = search_kinds(library, params, is_merged=False).kinds[TRACK].items
    return [(one.hit.score, one.hit.record) for one in hits]
