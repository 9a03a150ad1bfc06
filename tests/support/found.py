"""Result sets of made-up records, for tests of what a set does with its parts."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from stackroom.model.hits import EVIDENCE_AT, Ranking
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.question import plain_reading
from stackroom.search.result_set import Part


def part_of(name: str, strengths: Sequence[float], records: Sequence[Record] = ()) -> Part:
    """Return a part of a catalogue with these strengths; its records are called after it, unless
    given.
    """
    made = records or [Record(id=RecordId(f"{name}{rank}"), fields={}) for rank in range(99)]

    def fetch(keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        assert scope is WHOLE
        return {key: made[key] for key in keys}

    view: Any = SimpleNamespace(name=name, reader=SimpleNamespace(fetch=fetch, model=None))
    scores = np.array(strengths)
    ranking = Ranking(
        keys=np.arange(len(scores)), scores=scores, total=int((scores >= EVIDENCE_AT).sum())
    )
    return Part(view=view, reading=plain_reading("", WHOLE), ranking=ranking)
