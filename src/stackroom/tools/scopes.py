"""The scope of a search in each catalogue that it asks: values as the records there have them, adult records out.

A catalogue that lacks a value is left out, and named, where another has it; where none has it, the call is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.model.scope import Condition, NoneOf, Scope, Visibility
from stackroom.search.conditions import Label, argument_of, resolve_conditions, without_adult
from stackroom.tools.catalogue import CatalogueView, Gathered, ask_each


def no_conditions(_spec: CatalogueSpec) -> Sequence[Condition]:
    """Return no conditions, for a search without filters."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The part of a call that limits what is found."""

    query: str
    visibility: Visibility
    conditions: Callable[[CatalogueSpec], Sequence[Condition]] = no_conditions
    """Returns the conditions for a catalogue of this spec."""
    label: Label = argument_of
    """Returns the name of the argument that a condition came from, for errors and notes."""
    with_adult: Callable[[CatalogueSpec], bool] = lambda _spec: False
    """Tells whether the call asks for adult records too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoped:
    """The catalogues to search, the scope in each, and notes on how the filters were understood."""

    views: Gathered[CatalogueView]
    scopes: Mapping[str, Scope]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """A scope in one catalogue, its notes, the fields it excludes values by, and the errors of values it lacks."""

    scope: Scope
    notes: tuple[str, ...]
    excluding: frozenset[str]
    unknown: Mapping[str, InputError]


def scope_each(views: Gathered[CatalogueView], asked: Asked) -> Scoped:
    """Return the scope of a call in each catalogue; raise InputError for a value that no catalogue knows."""
    answers = ask_each(views.found, lambda view: _scope_or_refusal(view, asked))
    found = {name: one for name, one in answers.found.items() if isinstance(one, _Scope)}
    refused = {name: one for name, one in answers.found.items() if isinstance(one, InputError)}
    if refused and not found:
        raise next(iter(refused.values()))
    _require_known_exclusions(list(found.values()))
    return Scoped(
        views=Gathered(found={name: views.found[name] for name in found}, skipped=[*views.skipped, *answers.skipped]),
        scopes={name: one.scope for name, one in found.items()},
        notes=[
            *([f"not searched, without a value that was asked for: {', '.join(refused)}"] if refused else []),
            *_notes({name: one.notes for name, one in found.items()}),
        ],
    )


def scope_of(view: CatalogueView, asked: Asked) -> tuple[Scope, list[str]]:
    """Return the scope of a call in one catalogue, and notes; raise InputError for a value that it does not know."""
    only = scope_each(Gathered(found={view.name: view}, skipped=[]), asked)
    return only.scopes[view.name], only.notes


def shown_scope(view: CatalogueView, visibility: Visibility) -> Scope:
    """Return the scope of what a search shows that asks for nothing: what the caller may see, without adult records."""
    return scope_of(view, Asked(query="", visibility=visibility))[0]


def _scope_or_refusal(view: CatalogueView, asked: Asked) -> _Scope | InputError:
    try:
        conditions, notes, unknown = _resolved(view, asked)
        hidden = [] if asked.with_adult(view.spec) else _hidden(view, asked, conditions)
    except InputError as error:
        return error
    scope = Scope(conditions=(*conditions, *hidden), visibility=asked.visibility)
    excluding = frozenset(one.field for one in conditions if isinstance(one, NoneOf))
    return _Scope(scope=scope, notes=tuple(notes), excluding=excluding, unknown=unknown)


def _resolved(view: CatalogueView, asked: Asked) -> tuple[list[Condition], list[str], dict[str, InputError]]:
    """Return the conditions with their values, notes, and the errors of excluded values, which no record here has."""
    conditions: list[Condition] = []
    notes: list[str] = []
    unknown: dict[str, InputError] = {}
    for condition in asked.conditions(view.spec):
        try:
            named = resolve_conditions(
                [condition], view.reader, view.spec, visibility=asked.visibility, label=asked.label
            )
        except InputError as error:
            if not isinstance(condition, NoneOf):
                raise
            unknown[condition.field] = error
            continue
        conditions += named.conditions
        notes += named.notes
    return conditions, notes, unknown


def _hidden(view: CatalogueView, asked: Asked, conditions: Sequence[Condition]) -> list[Condition]:
    return without_adult(conditions, view.reader, view.spec, query=asked.query, visibility=asked.visibility)


def _require_known_exclusions(scopes: Sequence[_Scope]) -> None:
    """Refuse an exclusion of a value that no catalogue knows: it would do nothing, and nobody would be told."""
    known = {field for scope in scopes for field in scope.excluding}
    for scope in scopes:
        for field, error in scope.unknown.items():
            if field not in known:
                raise error


def _notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the notes of all catalogues, each with the name of its catalogue unless all have the same."""
    different = {tuple(some) for some in notes.values()}
    if len(different) == 1:
        return list(*different)
    return [f"{name}: {note}" for name, some in notes.items() for note in some]
