"""Connections without a complete request are bounded; the one that has waited longest makes room."""

import pytest

from pinakes.serve.http.unfinished import Unfinished

pytestmark = pytest.mark.row("T6")


class Connection:
    """A connection that notes whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    def make_room(self) -> None:
        self.is_closed = True


def test_the_connection_that_has_waited_longest_makes_room_for_a_new_one() -> None:
    unfinished, connections = Unfinished(3, 1_000), [Connection() for _ in range(5)]
    for one in connections:
        unfinished.add(one)
    assert [one.is_closed for one in connections] == [True, True, False, False, False]
    assert len(unfinished) == 3


def test_a_connection_that_begins_another_request_waits_from_then_on() -> None:
    unfinished, (first, second, third) = Unfinished(2, 1_000), [Connection() for _ in range(3)]
    for one in (first, second, first, third):
        unfinished.add(one)
    assert [first.is_closed, second.is_closed, third.is_closed] == [False, True, False]


def test_connections_with_too_many_bytes_together_are_closed_oldest_first() -> None:
    unfinished, (first, second) = Unfinished(10, 1_000), [Connection() for _ in range(2)]
    for one in (first, second):
        unfinished.add(one)
        unfinished.grow(one, 600)
    assert [first.is_closed, second.is_closed] == [True, False]
    unfinished.discard(second)
    unfinished.grow(second, 5_000)
    assert not second.is_closed
