"""Tuning: the weights of the ranking that answer one half of the questions best, if they do not
lose on the other.

Candidates are found once and scored again for every setting. Questions made by rules have the words
of a record, so they favour words over vectors: the balance of the two is tuned by people's
questions only (decision 24). The scale of the evidence is the same everywhere and is never tuned.

The tuned weights are kept beside the catalogue: they overlay the `[search]` section of its spec.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from stackroom.catalogue.spec import CatalogueSpec, SearchSpec
from stackroom.checksums import dump_checked, load_checked
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.grading.golden_set import QuestionKind
from stackroom.grading.grade import AskedQuestion
from stackroom.grading.metrics import FIRST, Figure, build_figure, ndcg
from stackroom.library import FileWatch, replace_file

logger = logging.getLogger(__name__)

TUNED_FILE = "tuned.json"

Weights = Mapping[str, Any]  # the weights that were tuned, by their names in `[search]`


def difference(tuned: SearchSpec, declared: SearchSpec) -> Weights:
    """Return the weights in which a search section differs from the declared one."""
    was = declared.model_dump()
    return {name: value for name, value in tuned.model_dump().items() if value != was[name]}


def describe_weights(weights: Weights) -> str:
    """Return weights in one line."""
    return ", ".join(f"{name} {value}" for name, value in weights.items()) or "as declared"


def save_tuned(weights: Weights, path: Path) -> None:
    """Write tuned weights; replaces the file as a whole."""
    replace_file(path, dump_checked({"search": weights}, option=orjson.OPT_INDENT_2))


def find_tuned(path: Path) -> Weights | None:
    """Read tuned weights, where there are any; their bounds are those of a spec's."""
    if not path.is_file():
        return None
    try:  # files of earlier versions have the figures of their weights too
        weights: Weights = load_checked(path.read_bytes(), ("search", "figures"))["search"]
        SearchSpec(**weights)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise StorageError(
            f"{path} is damaged ({reason}); remove it: stackroom eval --reset"
        ) from error
    return weights


def watch_tuned(path: Path, declared: SearchSpec) -> FileWatch[SearchSpec | None]:
    """Follow the tuned weights of a catalogue: its search section with them; None if none were
    tuned.
    """
    return FileWatch(path, lambda: _read_over(path, declared))


def _read_over(path: Path, declared: SearchSpec) -> SearchSpec | None:
    try:
        weights = find_tuned(path)
    except StorageError as error:
        logger.warning(
            "catalogue '%s' is searched with its declared weights: %s", path.parent.name, error
        )
        return None
    return declared.model_copy(update=weights) if weights else None


PASSES = 2
LEAST_GAIN = 0.002  # a step that gains less on average is not taken
# no kind of question may lose more than this on average, whatever the others gain
MOST_LOST_BY_KIND = 0.02
LEAST_QUESTIONS = 30  # with fewer questions in a half, nothing is tuned
LEAST_BY_PEOPLE = 20
NAMES = (QuestionKind.MISSPELT, QuestionKind.SHORT, QuestionKind.OTHER_NAME)
"""Kinds that must not lose, and count for nothing else: names have an arm of their own, which no
weight is of.
"""
Half = Sequence[AskedQuestion]
Choices = dict[str, tuple[Any, ...]]  # the values that are tried for each weight

WEIGHTS: Choices = {
    "feedback_weight": (0.0, 0.25, 0.5, 0.75),
    "smoothing_weight": (0.0, 0.1, 0.2, 0.3),
}
IF_KNOWN: Choices = {"known_weight": (0.0, 0.15, 0.3, 0.5, 0.7)}
IF_NAMED: Choices = {"named_weight": (0.0, 0.15, 0.3, 0.45)}
BALANCE: Choices = {"vector_weight": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8), "by_coverage": (False, True)}


@frozen
class Tuning:
    """The outcome of a tuning: the weights to use from now on, and the figures of both halves
    before and after.
    """

    search: SearchSpec  # the tuned weights where they were accepted, else the present ones
    tried: SearchSpec  # the weights that are best on the half they were tuned on
    is_accepted: bool
    reason: str
    tuned_half: tuple[Figure, Figure]  # nDCG@10 on the half that was tuned on: before, after
    # nDCG@10 on the half that was held out: before, with the weights that were tried
    other_half: tuple[Figure, Figure]


def tune(asked: Sequence[AskedQuestion], present: SearchSpec, spec: CatalogueSpec) -> Tuning:
    """Search for better weights on every second question of each kind, and accept them if the
    others do not lose.
    """
    kinds = dict.fromkeys(one.question.kind for one in asked)
    by_kind = [[one for one in asked if one.question.kind is kind] for kind in kinds]
    halves = (
        [one for some in by_kind for one in some[::2]],
        [one for some in by_kind for one in some[1::2]],
    )
    tried = present
    if min(map(len, halves)) >= LEAST_QUESTIONS:
        by_people = min(
            sum(one.question.kind is QuestionKind.OWN for one in half) for half in halves
        )
        # The weights that have an effect here and can be judged by the questions.
        known, named = IF_KNOWN if spec.known else {}, IF_NAMED if spec.search.named else {}
        balance = BALANCE if by_people >= LEAST_BY_PEOPLE else {}
        tried = _climb(halves[0], present, {**WEIGHTS, **known, **named, **balance})
    before = [_ndcgs(half, present) for half in halves]
    after = [_ndcgs(half, tried) for half in halves]
    tuned_half, other_half = (
        (build_figure(old or [0.0]), build_figure(new or [0.0]))
        for old, new in zip(before, after, strict=True)
    )
    reason = "no other weights answer better"
    if min(map(len, halves)) < LEAST_QUESTIONS:
        reason = (
            f"there are too few questions: {min(map(len, halves))} in a half, {LEAST_QUESTIONS} are"
            " needed"
        )
    elif tried != present:
        reason = _find_objection(halves[1], before, after)
    return Tuning(
        search=present if reason else tried,
        tried=tried,
        is_accepted=not reason,
        reason=reason,
        tuned_half=tuned_half,
        other_half=other_half,
    )


def _climb(half: Half, present: SearchSpec, choices: Choices) -> SearchSpec:
    """Change one weight at a time to its best value, until a pass over all of them changes
    nothing.
    """
    start = best = _ndcgs(half, present)
    search = present
    for _ in range(PASSES):
        before = search
        for name, value in ((name, value) for name, values in choices.items() for value in values):
            option = before.model_copy(update={name: value})
            if option == before:
                continue
            found = _ndcgs(half, option)
            gain = _gain(half, best, found)
            if gain >= LEAST_GAIN and not _kinds_that_lose(half, start, found):
                search, best = option, found
        if search == before:
            break
    return search


def _gain(half: Half, before: Sequence[float], after: Sequence[float]) -> float:
    """Return the mean gain of the kinds that count, each as much as another."""
    changes = _mean_changes(half, before, after)
    counted = [change for kind, change in changes.items() if kind not in NAMES]
    return fmean(counted) if counted else 0.0


def _find_objection(
    other_half: Half, before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]
) -> str:
    """Return why weights that answer the first half better are not accepted; empty where they
    are.
    """
    gains = [new - old for old, new in zip(before[0], after[0], strict=True)]
    if build_figure(gains).low <= 0:
        return "the gain is within noise"
    if sum(after[1]) < sum(before[1]):
        return "the other half loses"
    losing = _kinds_that_lose(other_half, before[1], after[1])
    return f"in the other half, {', '.join(losing)} lose" if losing else ""


def _kinds_that_lose(half: Half, before: Sequence[float], after: Sequence[float]) -> list[str]:
    """Return the kinds of question that lose more than a little on average."""
    changes = _mean_changes(half, before, after)
    return [str(kind) for kind, change in changes.items() if change < -MOST_LOST_BY_KIND]


def _mean_changes(
    half: Half, before: Sequence[float], after: Sequence[float]
) -> dict[QuestionKind, float]:
    """Return the mean change of the questions of each kind."""
    changes: dict[QuestionKind, list[float]] = {}
    for one, old, new in zip(half, before, after, strict=True):
        changes.setdefault(one.question.kind, []).append(new - old)
    return {kind: fmean(some) for kind, some in changes.items()}


def _ndcgs(half: Half, search: SearchSpec) -> list[float]:
    return [ndcg(one.rank(search), dict.fromkeys(one.answers, 1.0), depth=FIRST) for one in half]
