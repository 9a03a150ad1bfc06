"""Questions asked of one view of a catalogue: candidates are found once, and ranked by any weights afterwards."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, SearchSpec
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError
from stackroom.grading.golden_set import default_scope
from stackroom.grading.questions import Question
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId, Vector, centre
from stackroom.search.fuse import STEPS, Candidates, Floats
from stackroom.search.searcher import Searcher
from stackroom.shelf.port import ShelfReader

DEPTH = 50
"""The number of hits that are looked at for an answer."""

EmbedQuery = Callable[[str], Vector | None]
"""Returns the vector of a query for one view; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question with the keys of its answers, and what the arms of a search found for it."""

    question: Question
    answers: frozenset[int]
    candidates: Candidates
    vector: Vector | None = None
    depth: int = DEPTH

    def rank(self, search: SearchSpec) -> list[int]:
        """Return the keys of the best hits with these weights."""
        return self._best(STEPS[search.fusion](self.candidates, self.vector, search).scores())

    def rank_by_words(self) -> list[int]:
        """Return the keys of the best hits by words alone."""
        return self._best(self.candidates.bm25, above=0.0)

    def rank_by_vectors(self) -> list[int]:
        """Return the keys of the best hits by vectors alone."""
        is_near = np.where(self.candidates.in_vector_arm, self.candidates.cosine, -np.inf)
        return self._best(is_near, above=-np.inf)

    def _best(self, scores: Floats, *, above: float = -np.inf) -> list[int]:
        order = np.argsort(-scores, kind="stable")[: self.depth]
        keys: list[int] = self.candidates.keys[order[scores[order] > above]].tolist()
        return keys


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks questions of one view of a catalogue."""

    reader: ShelfReader
    spec: CatalogueSpec
    embed: EmbedQuery
    depth: int = DEPTH
    """The number of hits that are ranked; each arm contributes at least twice as many."""

    def ask(self, questions: Iterable[Question]) -> Iterator[AskedQuestion]:
        """Yield each question as it was asked; those whose answers are not in the catalogue are left out."""
        depth = max(self.spec.search.depth, 2 * self.depth)
        search = self.spec.search.model_copy(update={"depth": depth})
        searcher = Searcher(spec=self.spec, override=search)
        for question in questions:
            answers = frozenset(self.reader.find(question.expected, scope=WHOLE).values())
            if not answers:
                continue
            vector, scope = self.embed(question.query), default_scope(self.spec)
            yield AskedQuestion(
                question=question,
                answers=frozenset(map(int, answers)),
                candidates=searcher.find_candidates(self.reader, question.query, vector, scope=scope, limit=self.depth),
                vector=vector,
                depth=self.depth,
            )


def embed_for(reader: ShelfReader, get_embedder: Callable[[ModelId | None], Embedder]) -> EmbedQuery:
    """Return the embedding of queries for a view, by the model of its vectors and centred as they are."""
    embedder = get_embedder(reader.model)

    def embed(text: str) -> Vector | None:
        if reader.model is None or embedder.model != reader.model:
            return None
        try:
            vector = embedder.embed_query(text)
        except ExpectedError:
            return None
        return vector if reader.mean is None else centre(vector, reader.mean)

    return embed
