"""`recommend`: records for liked and disliked ones and wishes in plain words, with the score that
orders them.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from stackroom.catalogue.column_words import label_of
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.generic.record import RecordForm, shape_hits, shape_records
from stackroom.generic.shapes import (
    DrawnParams,
    ForPages,
    RecordsResult,
    ShownRecord,
    StatedId,
)
from stackroom.model.principal import Principal
from stackroom.model.scope import KIND_FIELD, AnyOf, Condition, NoneOf, Scope
from stackroom.recommend.recommender import Recommendations, Request
from stackroom.recommend.signals import SignalWeight, signal_values, signal_weights, taste_spec
from stackroom.search.names import NameChoice, choice_of
from stackroom.search.result_set import ResultSet
from stackroom.tools.budget import PricedParams
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import parse_filters
from stackroom.tools.finding import ScopeRequest, scope_of
from stackroom.tools.spec import GenericResult, optional, when_known

MOST_IN_TRAY = 50
Ids = Annotated[list[StatedId], Field(max_length=MOST_IN_TRAY)]

LABELS = dict.fromkeys(("taxonomy", "format", "temporal"), "Same {fields}")
LABELS |= {"semantic": "Meaning", "popularity": "Popularity", "known": "How much is known"}
LABELS |= {"wish": "Your sentence and dislikes"}
BY_MEANING = "by its meaning"


class RecommendParams(PricedParams, DrawnParams):
    """The arguments of `recommend`; the weights of signals are for pages."""

    catalogue: str | None = optional("Where to look", max_length=200)
    likes: Ids = Field(default_factory=list, description="Ids or titles")
    dislikes: Ids = Field(default_factory=list, description="Ids or titles to stay away from")
    wishes: str = Field(
        default="", max_length=2_000, description="e.g. after 2015, darker, not horror"
    )
    filters: dict[str, Any] | None = optional("As in search")
    limit: int = Field(default=8, ge=1, le=48, description="Most results")
    exclude: ForPages[Ids] = Field(default_factory=list)
    weights: ForPages[dict[str, float]] = Field(default_factory=dict, max_length=20)


class UnderstoodWish(GenericResult):
    """Words of the sentence, and what they were taken to mean."""

    phrase: str
    text: str


class Signal(GenericResult):
    """A signal that speaks for records, and how much it counts."""

    name: str
    label: str
    weight: float


class RecommendResult(RecordsResult):
    """Recommendations for a taste, in the order of their score, and how it was understood. After
    `notes`: for pages.
    """

    results: list[ShownRecord]
    understood: list[UnderstoodWish]
    not_understood: list[str]
    notes: list[str]
    likes: ForPages[list[ShownRecord] | None] = when_known()
    dislikes: ForPages[list[ShownRecord] | None] = when_known()
    taste: ForPages[list[str] | None] = when_known()
    signals: ForPages[list[Signal] | None] = when_known()


class _Tray(NamedTuple):
    """The records of a call that exist and may be seen, and the names that mean none."""

    likes: tuple[NameChoice, ...]
    dislikes: tuple[NameChoice, ...]
    unknown: tuple[NameChoice, ...]


def recommend_by_taste(
    view: CatalogueView, principal: Principal, params: RecommendParams, form: RecordForm
) -> RecommendResult:
    """Return what suits a taste; for pages with what speaks for each record, and what was asked for
    by name.
    """
    tray, answer, notes = ask_by_taste(view, principal, params)
    hits = found_by_taste(view, answer, params).page()
    results, drawn = shape_hits(hits, form), dict[str, Any]()
    if params.include:
        spec = taste_spec(view.spec, params.weights)
        signals_of = {item.key: signal_values(item.signals, spec) for item in answer.items}
        results = [
            shown.model_copy(update={"signals": signals_of[hit.key]})
            for shown, hit in zip(results, hits, strict=True)
        ]
        likes, dislikes = (
            shape_records(view, [one.record for one in some if one.record], form)
            for some in (tray.likes, tray.dislikes)
        )
        drawn = {
            "likes": likes,
            "dislikes": dislikes,
            "taste": list(answer.taste_tags),
            "signals": list(map(_signal, signal_weights(spec))),
        }
    return RecommendResult(
        results=results,
        **_understood(answer, is_described=not tray.likes),
        notes=[*notes, *answer.notes],
        **drawn,
    )


def found_by_taste(
    view: CatalogueView, answer: Recommendations, params: RecommendParams
) -> ResultSet:
    """Return the recommendations in the order of the score that they were chosen by."""
    part = answer.part_of(view, by=attrgetter("chosen_by"))
    return ResultSet(parts=[part], page_size=params.limit)


def ask_by_taste(
    view: CatalogueView, principal: Principal, params: RecommendParams
) -> tuple[_Tray, Recommendations, list[str]]:
    """Return what was asked for by name, the recommendations, and notes on how the call was
    understood.
    """
    spec, seen = taste_spec(view.spec, params.weights), Scope(visibility=principal.visibility)
    tray = _find_tray(view, params, seen)
    if not tray.likes and not params.wishes.strip():
        if params.likes:
            raise InputError(f"'likes': {'; '.join(map(_unknown, tray.unknown))}")
        raise InputError(
            "'likes' and 'wishes' are empty; like a record, or say in a sentence what you want"
        )
    asked = ScopeRequest(
        query="",
        visibility=principal.visibility,
        conditions=partial(parse_filters, params.filters or {}),
        with_adult=lambda _spec: True,
    )
    scope, notes = scope_of(view, asked)
    request = Request(
        titles=(),
        preferences=params.wishes,
        exclude=tuple(params.exclude),
        conditions=(*scope.conditions, *_of_liked_kinds(scope.conditions, tray, spec)),
        limit=params.limit,
        may_describe=True,
    )
    recommender = replace(view.catalogue.recommender, spec=spec)
    answer = recommender.recommend_for(
        view.reader, tray.likes, request, scope=seen, disliked=tray.dislikes
    )
    unsure = [choice for choice in (*tray.likes, *tray.dislikes) if choice.doubt]
    doubts = [f"'{one.asked[:80]}' was taken for '{one.title}' {one.doubt}" for one in unsure]
    left_aside = [f"{_unknown(choice)}, so it was left aside" for choice in tray.unknown]
    return tray, answer, [*notes, *doubts, *left_aside]


def _find_tray(view: CatalogueView, params: RecommendParams, scope: Scope) -> _Tray:
    likes, dislikes = (
        [_find(view, stated, scope) for stated in some] for some in (params.likes, params.dislikes)
    )
    liked, disliked = (
        {choice.key: choice for choice in some if choice.key} for some in (likes, dislikes)
    )
    if (
        both := next((choice for key, choice in disliked.items() if key in liked), None)
    ) is not None:
        raise InputError(
            f"'dislikes': '{both.title}' is among the 'likes' too; leave it out of one of them"
        )
    unknown = {choice.asked: choice for choice in (*likes, *dislikes) if choice.key is None}
    return _Tray(
        likes=tuple(liked.values()),
        dislikes=tuple(disliked.values()),
        unknown=tuple(unknown.values()),
    )


def _find(view: CatalogueView, stated: str, scope: Scope) -> NameChoice:
    """Return the record of an id in any form, or else of a title."""
    record = view.find_stated(stated, scope=scope)
    key = view.reader.find([record.id], scope=scope).get(record.id) if record else None
    if record is not None and key is not None:
        return choice_of(view.spec, stated, key, record)
    return view.resolve(stated, scope=scope)


def _unknown(choice: NameChoice) -> str:
    hint = f" (did you mean {', '.join(choice.suggestions)}?)" if choice.suggestions else ""
    return f"'{choice.asked[:80]}' is not in the catalogue{hint}"


def _of_liked_kinds(
    conditions: Iterable[Condition], tray: _Tray, spec: CatalogueSpec
) -> list[Condition]:
    """Return the condition on kinds, unless a filter has one: the liked kinds, else those that a
    search finds.
    """
    if len(spec.kinds) == 1 or any(condition.field == KIND_FIELD for condition in conditions):
        return []
    kinds = tuple(dict.fromkeys(like.record.kind for like in tray.likes if like.record))
    hidden = spec.kinds_hidden_from_search
    return [AnyOf(KIND_FIELD, kinds)] if kinds else [NoneOf(KIND_FIELD, hidden)] if hidden else []


def _signal(weight: SignalWeight) -> Signal:
    label = LABELS[weight.name].format(
        fields=" and ".join(label_of(name).lower() for name in weight.fields)
    )
    return Signal(name=weight.name, label=label, weight=weight.weight)


def _understood(answer: Recommendations, *, is_described: bool) -> dict[str, Any]:
    """Return how the sentence was taken; one that describes what is wanted has other words by their
    meaning.
    """
    preferences = answer.preferences
    unknown = [
        f"no title like '{one.asked}'"
        for one in (*answer.titles, *answer.excluded)
        if not one.title
    ]
    by_meaning = preferences.not_understood if is_described else ()
    return {
        "understood": [
            *(UnderstoodWish(phrase=one.text, text=one.meaning) for one in preferences.understood),
            *(UnderstoodWish(phrase=phrase, text=BY_MEANING) for phrase in by_meaning),
        ],
        "not_understood": [*(() if is_described else preferences.not_understood), *unknown],
    }
