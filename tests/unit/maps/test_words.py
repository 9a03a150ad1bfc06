"""The words of a map: those that lie together, of the texts that were embedded."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stackroom.maps.making import make_map
from stackroom.model.record import Record

Make = Callable[..., Record]


def test_words_of_a_place_are_found_in_the_form_of_most_and_those_of_everywhere_are_not(
    shelved: Any, anime: Make
) -> None:
    shelved.put(*(anime(f"a-{one}", synopsis="robots in space with a story") for one in range(18)))
    shelved.put(
        *(anime(f"a-{one}", synopsis="a robot in space with a story") for one in range(18, 20))
    )
    shelved.put(
        *(
            anime(f"{kind}-{one}", synopsis=f"{kind} and a story")
            for kind in TOPICS
            for one in range(20)
        )
    )
    made = make_map(shelved.shelf.reader())
    assert made is not None
    words = made.words
    assert {"robots", "space"} <= set(words.values)
    assert {"robot", "story", "and", "with"}.isdisjoint(words.values)
    of_robots = words.keys[words.indexes == list(words.values).index("robots")]
    assert np.array_equal(np.sort(of_robots), made.keys[:20])


TOPICS = (
    *(
        "bread",
        "winter",
        "tennis",
        "castles",
        "police",
        "idols",
        "soccer",
        "trains",
        "magic",
        "pirates",
    ),
    *("doctors", "chess"),
)
