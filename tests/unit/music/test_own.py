"""Likes and playlists over MCP: `catalog.mutate` keeps them, in the store that the player reads."""

from collections.abc import Iterator
from typing import Any

import pytest

from stackroom_catalogues.music.player.store import open_player

pytestmark = pytest.mark.row("Z15", "Z17")

SATIE = "track-satie-gymnopedies-01"
RAG = "track-joplin-maple-leaf-rag-01"


@pytest.fixture
def own(sample_music: Any) -> Iterator[Any]:
    """The sample, of whose local user nothing is known yet."""
    yield sample_music
    sample_music.app.own_records.close()
    for file in sample_music.app.settings.home.glob("local-user.sqlite*"):
        file.unlink()


def store(music: Any) -> Any:
    return open_player(music.app.own_records.open())


def playlists(music: Any) -> list[tuple[str, list[str]]]:
    return [(one.name, list(one.tracks)) for one in store(music).list_playlists("local")[0]]


def keep(music: Any, **fields: Any) -> dict[str, Any]:
    """Keep a playlist, and return the answer."""
    kept: dict[str, Any] = music.ask("mutate", action="create", kind="playlist", fields=fields)
    return kept


def test_a_like_is_kept_by_id_or_name_and_taken_back(own: Any) -> None:
    for meant in (SATIE, "Erik Satie"):
        assert own.ask("mutate", action="create", kind="like", id=meant)["applied"]
    assert {like.id for like in store(own).list_likes("local")[0]} == {SATIE, "artist-erik-satie"}
    assert not own.ask("mutate", action="create", kind="like", id=SATIE)["applied"]
    own.ask("mutate", action="delete", kind="like", id=SATIE)
    assert [like.id for like in store(own).list_likes("local")[0]] == ["artist-erik-satie"]


def test_a_playlist_keeps_its_order_and_is_changed_and_deleted_by_id_or_name(own: Any) -> None:
    kept = keep(own, name="Evening", tracks=[SATIE, RAG, SATIE])["changes"][0]
    assert playlists(own) == [("Evening", [SATIE, RAG, SATIE])]
    own.ask(
        "mutate",
        action="update",
        kind="playlist",
        id=kept["id"],
        fields={"name": "Late", "tracks": [RAG]},
    )
    assert playlists(own) == [("Late", [RAG])]
    own.ask("mutate", action="delete", kind="playlist", id="Late")
    assert playlists(own) == []


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"kind": "like"}, "'id' is missing"),
        ({"kind": "like", "id": "zzzz qqqq"}, "no artist or album or track"),
        ({"kind": "like", "id": SATIE, "fields": {"why": "x"}}, "a like has no 'why'"),
        ({"kind": "playlist", "fields": {"tracks": [SATIE]}}, "needs a 'name'"),
        (
            {"kind": "playlist", "fields": {"name": "x", "tracks": ["artist-erik-satie"]}},
            "not track",
        ),
        ({"kind": "playlist", "fields": {"name": "x", "tracks": [1]}}, "'tracks' must be a list"),
        ({"kind": "playlist", "fields": {"name": "x"}, "preview": True}, "at once"),
        ({"kind": "playlist", "id": "gone", "action": "delete"}, "yours: none"),
    ],
)
def test_a_wrong_request_is_refused_with_what_would_be_right_and_keeps_nothing(
    own: Any, request_: dict[str, Any], said: str
) -> None:
    assert said in own.refusal("mutate", **{"action": "create", **request_})
    assert playlists(own) == []
    assert store(own).list_likes("local")[1] == 0
