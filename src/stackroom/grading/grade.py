"""The grade of a catalogue: how well it answers its golden questions, for each kind and each arm, with intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from stackroom.catalogue.spec import SearchSpec
from stackroom.checksums import dump_checked, load_checked
from stackroom.errors import StorageError
from stackroom.grading.asking import DEPTH, AskedQuestion
from stackroom.grading.metrics import Figure, build_figure, ndcg, recall, reciprocal_rank
from stackroom.library import replace_file

GRADE_FILE = "grade.json"
ALL = "all"
BY_WORDS = "words alone"
BY_VECTORS = "vectors alone"
FIRST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class KindGrade:
    """How well the questions of one kind are answered."""

    ndcg_10: Figure
    recall_50: Figure
    mrr_10: Figure

    @property
    def questions(self) -> int:
        """The number of questions."""
        return len(self.ndcg_10.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A catalogue's grade at one moment."""

    at: datetime
    records: int
    model: str
    kinds: Mapping[str, KindGrade]
    """The grade of all questions, of each kind, and of the arms alone."""

    @property
    def overall(self) -> KindGrade:
        """The grade of all questions."""
        return self.kinds[ALL]


STORED = TypeAdapter(Grade)


def grade_questions(asked: Sequence[AskedQuestion], search: SearchSpec) -> dict[str, KindGrade]:
    """Return the grades of all questions, of each kind, and of words and vectors alone."""
    if not asked:
        return {}
    rankings = [one.rank(search) for one in asked]
    kinds = {ALL: grade_rankings(asked, rankings)}
    for kind in dict.fromkeys(one.question.kind for one in asked):
        places = [place for place, one in enumerate(asked) if one.question.kind is kind]
        kinds[str(kind)] = grade_rankings([asked[place] for place in places], [rankings[place] for place in places])
    kinds[BY_WORDS] = grade_rankings(asked, [one.rank_by_words() for one in asked])
    if with_vectors := [one for one in asked if one.vector is not None]:
        kinds[BY_VECTORS] = grade_rankings(with_vectors, [one.rank_by_vectors() for one in with_vectors])
    return kinds


def grade_rankings(asked: Sequence[AskedQuestion], rankings: Sequence[Sequence[int]]) -> KindGrade:
    """Return the grade of rankings of these questions."""

    def figure(measure: Callable[[AskedQuestion, Sequence[int]], float]) -> Figure:
        return build_figure([measure(one, ranked) for one, ranked in zip(asked, rankings, strict=True)])

    return KindGrade(
        ndcg_10=figure(lambda one, ranked: ndcg(ranked, dict.fromkeys(one.answers, 1.0), depth=FIRST)),
        recall_50=figure(lambda one, ranked: recall(ranked, one.answers, depth=DEPTH)),
        mrr_10=figure(lambda one, ranked: reciprocal_rank(ranked, one.answers, depth=FIRST)),
    )


def save_grade(grade: Grade, path: Path) -> None:
    """Write a grade, with the values of single questions; replaces the file as a whole."""
    replace_file(path, dump_checked(STORED.dump_python(grade, mode="json")))


def find_grade(path: Path) -> Grade | None:
    """Read the last grade of a catalogue; None where it was never graded."""
    if not path.is_file():
        return None
    try:
        return STORED.validate_python(load_checked(path.read_bytes(), None))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} is damaged; remove it, and grade the catalogue again: stackroom eval") from error


def describe_grade(grade: Grade) -> str:
    """Return a grade in one line: nDCG@10 with its interval, and when it was measured."""
    overall = grade.overall
    return f"nDCG@10 {overall.ndcg_10} on {overall.questions} questions, {grade.at:%Y-%m-%d}"
