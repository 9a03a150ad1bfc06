"""Likes and playlists on SQLite and PostgreSQL: each only for themselves, bounded, and gone with
their user.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.errors import ConflictError, NotFoundError
from stackroom_catalogues.music.player import store as player_module
from stackroom_catalogues.music.player.store import Player

pytestmark = pytest.mark.row("Z17")


@pytest.fixture
def player(people: Any) -> Player:
    """The player's things of two listeners."""
    people.add("ada")
    people.add("bob")
    return Player(people.database, now=people.clock.now)


def test_to_like_again_changes_nothing_and_to_unlike_ends_it(player: Player, people: Any) -> None:
    player.like("ada", "a", "artist")
    first = player.list_likes("ada")
    people.clock.advance(60)
    player.like("ada", "a", "artist")
    assert player.list_likes("ada") == first
    player.unlike("bob", "a")
    assert player.list_likes("ada") == first
    player.unlike("ada", "a")
    player.unlike("ada", "a")
    assert player.list_likes("ada") == ([], 0)


def test_there_is_a_limit_of_likes_and_of_playlists(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_module, "MOST_LIKES", 2)
    monkeypatch.setattr(player_module, "MOST_PLAYLISTS", 1)
    player.like("ada", "a", "track")
    player.like("ada", "b", "track")
    player.like("ada", "a", "track")
    with pytest.raises(ConflictError, match="2 likes"):
        player.like("ada", "c", "track")
    player.put_playlist("ada", None, "one", [])
    with pytest.raises(ConflictError, match="1 playlists"):
        player.put_playlist("ada", None, "two", [])
    player.put_playlist("bob", None, "his", [])


def test_there_is_a_limit_of_tracks_over_all_playlists(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_module, "MOST_TRACKS_IN_ALL", 5)
    first = player.put_playlist("ada", None, "first", ["a", "b", "c"])
    second = player.put_playlist("ada", None, "second", ["a", "b"])
    player.put_playlist("bob", None, "his", ["a"])
    with pytest.raises(ConflictError, match="6 tracks together"):
        player.put_playlist("ada", None, "third", ["a"])
    with pytest.raises(ConflictError, match="6 tracks together"):
        player.put_playlist("ada", second.id, "second", ["a", "b", "c"])
    assert player.list_playlists("ada") == ([first, second], 2)
    player.put_playlist("ada", first.id, "first", ["c", "b", "a"])
    assert [one.tracks for one in player.list_playlists("ada")[0]] == [["c", "b", "a"], ["a", "b"]]


def test_a_playlist_keeps_its_order_and_what_is_in_it_twice(player: Player, people: Any) -> None:
    made = player.put_playlist("ada", None, "Evening 夜", ["c", "a", "b", "a"])
    assert made.tracks == ["c", "a", "b", "a"]
    people.clock.advance(5)
    changed = player.put_playlist("ada", made.id, "Morning", ["b"])
    assert (changed.id, changed.name, changed.tracks) == (made.id, "Morning", ["b"])
    assert (changed.updated_at - made.updated_at).total_seconds() == 5
    assert player.get_playlist("ada", made.id) == changed
    other = player.put_playlist("ada", None, "Afternoon", [])
    assert player.list_playlists("ada") == ([other, changed], 2)
    player.delete_playlist("ada", made.id)
    assert player.list_playlists("ada") == ([other], 1)


def test_another_s_playlist_is_as_unknown_as_none(player: Player) -> None:
    made = player.put_playlist("ada", None, "hers", ["a"])
    ways: list[Callable[[str], object]] = [
        lambda one: player.get_playlist("bob", one),
        lambda one: player.put_playlist("bob", one, "his", []),
        lambda one: player.delete_playlist("bob", one),
    ]
    for way in ways:
        with pytest.raises(NotFoundError) as hers:
            way(made.id)
        with pytest.raises(NotFoundError) as none:
            way("0" * len(made.id))
        assert hers.value.message.replace(made.id, "") == none.value.message.replace(
            "0" * len(made.id), ""
        )
    assert player.list_playlists("bob") == ([], 0)
    assert player.get_playlist("ada", made.id) == made


def test_an_id_that_no_database_can_hold_is_unknown(player: Player) -> None:
    with pytest.raises(NotFoundError):
        player.get_playlist("ada", "a\0b")
    with pytest.raises(NotFoundError):
        player.delete_playlist("ada", "a\0b")


def test_who_does_not_exist_has_nothing_and_can_keep_nothing(player: Player) -> None:
    for way in (
        lambda: player.like("nobody", "a", "track"),
        lambda: player.put_playlist("nobody", None, "x", []),
        lambda: player.get_playlist("nobody", "x"),
    ):
        with pytest.raises(NotFoundError):
            way()


def test_a_limit_holds_for_many_threads_at_once(
    player: Player, at_once: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_module, "MOST_PLAYLISTS", 3)
    made = at_once([lambda: player.put_playlist("ada", None, "x", ["a"])] * 6)
    assert sum(isinstance(one, ConflictError) for one in made) == 3
    assert player.list_playlists("ada")[1] == 3


def test_a_playlist_that_is_changed_and_taken_away_at_once_is_whole_or_gone(
    player: Player, at_once: Callable[..., list[Any]]
) -> None:
    for _ in range(5):
        made = player.put_playlist("ada", None, "x", ["a"])
        changes = [
            lambda at=made.id, n=n: player.put_playlist("ada", at, f"x{n}", ["b"] * (n + 1))
            for n in range(3)
        ]
        done = at_once([*changes, lambda at=made.id: player.delete_playlist("ada", at)])
        assert all(one is None or isinstance(one, NotFoundError) or one.tracks for one in done)
        assert player.list_playlists("ada") == ([], 0)
