"""Likes, playlists and plays over MCP: kept by `catalog.mutate`, read by `catalog.get`, undone by the call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.maintenance import plan_backup
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.settings import Settings
from stackroom.tools.own_kinds import OwnStorage

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


def ids_in(answer: dict[str, Any], group: str = "tracks") -> list[str]:
    return [one["id"] for one in answer[group]["items"]]


def keep(music: Any, **fields: Any) -> dict[str, Any]:
    """Keep a playlist, and return the answer."""
    return music.ask("mutate", action="create", kind="playlist", fields=fields)


def test_a_like_is_kept_by_id_or_by_a_name_that_one_record_has_and_taken_back(own: Any) -> None:
    own.ask("mutate", action="create", kind="like", id=SATIE)
    liked = own.ask("mutate", action="create", kind="like", id="Erik Satie")
    assert "was taken for Erik Satie" in liked["notes"][0]
    likes = own.ask("get", query_type="likes")
    assert (ids_in(likes), ids_in(likes, "artists")) == ([SATIE], ["artist-erik-satie"])
    again = own.ask("mutate", action="create", kind="like", id=SATIE)
    assert (again["applied"], again["changes"]) == (False, [])
    own.ask("mutate", action="delete", kind="like", id=SATIE)
    assert ids_in(own.ask("get", query_type="likes")) == []


def test_a_name_of_several_is_refused_with_their_ids_and_one_of_none_with_suggestions(own: Any) -> None:
    refused = own.refusal("mutate", action="create", kind="like", id="Maple Leaf Rag")
    assert RAG in refused
    assert "album-joplin-maple-leaf-rag" in refused
    assert "did you mean" in own.refusal("mutate", action="create", kind="like", id="Maple Leef Rags")
    not_a_track = keep_refusal(own, name="x", tracks=["artist-erik-satie"])
    assert "'tracks': 'artist-erik-satie' is of the kind artist" in not_a_track
    assert own.ask("get", query_type="playlists")["playlists"]["total"] == 0


def keep_refusal(music: Any, **fields: Any) -> str:
    return str(music.refusal("mutate", action="create", kind="playlist", fields=fields))


def test_a_playlist_keeps_its_order_and_takes_ids_and_names(own: Any) -> None:
    kept = keep(own, name="Evening", tracks=[SATIE, RAG, "III. Clair de lune", SATIE])["changes"][0]
    shown = own.ask("get", query_type="playlist", id="evening")
    assert shown["item"]["id"] == kept["id"]
    assert ids_in(shown) == [SATIE, RAG, "track-debussy-suite-bergamasque-03", SATIE]
    own.ask("mutate", action="update", kind="playlist", id=kept["id"], fields={"name": "Late", "tracks": [RAG]})
    assert ids_in(own.ask("get", query_type="playlist", id="Late")) == [RAG]
    assert own.ask("get", query_type="playlists")["playlists"]["items"][0]["tracks"] == 1


def test_a_playlist_of_a_sentence_is_made_and_kept_in_one_call_as_it_is_shown(own: Any) -> None:
    about = {"about": "only Bach and Mozart", "minutes": 20}
    shown = own.ask("get", query_type="playlist", **about)
    kept = keep(own, name="Two of them", **about)
    assert kept["changes"][0]["fields"][1]["after"] == ids_in(shown)
    assert kept["notes"] == shown["notes"]


def test_nothing_is_kept_of_a_sentence_that_nothing_fits(own: Any) -> None:
    assert "nothing here fits 'zydeco dubstep'" in keep_refusal(own, name="Gym", about="zydeco dubstep")
    assert own.ask("get", query_type="playlists")["playlists"]["total"] == 0


def test_plays_are_counted_and_can_be_narrowed_to_an_artist(own: Any) -> None:
    for seconds in (10, 20):
        own.ask("mutate", action="create", kind="play", id=SATIE, fields={"seconds": seconds})
    own.ask("mutate", action="create", kind="play", id=RAG)
    plays = own.ask("get", query_type="plays")
    assert [(one["id"], one["plays"]) for one in plays["tracks"]["items"]] == [(SATIE, 2), (RAG, 1)]
    assert ids_in(own.ask("get", query_type="plays", id="Scott Joplin")) == [RAG]
    refused = own.refusal("mutate", action="create", kind="play", id=RAG, fields={"seconds": 9_000})
    assert "the track lasts 190 s" in refused


def test_a_preview_changes_nothing_and_its_plan_is_refused_when_something_moved(own: Any) -> None:
    request = {"action": "create", "kind": "play", "id": SATIE}
    previewed = own.ask("mutate", **request, preview=True)
    assert (previewed["applied"], previewed["call_id"]) == (False, None)
    assert own.ask("get", query_type="plays")["tracks"]["total"] == 0
    own.ask("mutate", **request)
    assert "changed since the preview" in own.refusal("mutate", **request, plan=previewed["plan"])
    plan = own.ask("mutate", action="create", kind="playlist", fields={"name": "x"}, preview=True)["plan"]
    assert own.ask("mutate", action="create", kind="playlist", fields={"name": "x"}, plan=plan)["applied"]


def test_every_change_is_undone_by_its_call_and_the_undo_too(own: Any) -> None:
    calls = [
        own.ask("mutate", action="create", kind="like", id=RAG),
        keep(own, name="Evening", tracks=[SATIE]),
        own.ask("mutate", action="update", kind="playlist", id="Evening", fields={"tracks": [RAG, SATIE]}),
        own.ask("mutate", action="create", kind="play", id=RAG),
        own.ask("mutate", action="delete", kind="playlist", id="Evening"),
    ]
    undone = [own.ask("mutate", action="undo", id=call["call_id"]) for call in reversed(calls)]
    assert own.ask("get", query_type="playlists")["playlists"]["total"] == 0
    assert ids_in(own.ask("get", query_type="likes")) == ids_in(own.ask("get", query_type="plays")) == []
    assert "is undone already" in own.refusal("mutate", action="undo", id=calls[0]["call_id"])
    own.ask("mutate", action="undo", id=undone[-1]["call_id"])
    assert ids_in(own.ask("get", query_type="likes")) == [RAG]


def test_an_undo_is_refused_where_the_record_was_changed_since_and_plays_are_subtracted(own: Any) -> None:
    made = keep(own, name="Evening", tracks=[SATIE])
    own.ask("mutate", action="update", kind="playlist", id="Evening", fields={"name": "Late"})
    assert "was changed since" in own.refusal("mutate", action="undo", id=made["call_id"])
    first = own.ask("mutate", action="create", kind="play", id=SATIE, fields={"seconds": 5})
    own.ask("mutate", action="create", kind="play", id=SATIE, fields={"seconds": 7})
    own.ask("mutate", action="undo", id=first["call_id"])
    assert own.ask("get", query_type="plays")["tracks"]["items"][0]["plays"] == 1


def test_several_are_kept_in_one_call_and_undone_together_but_not_with_records(own: Any) -> None:
    likes = [{"action": "create", "kind": "like", "id": one} for one in (SATIE, RAG)]
    playlist = {"action": "create", "kind": "playlist", "fields": {"name": "Two", "tracks": [RAG, SATIE]}}
    made = own.ask("mutate", changes=[*likes, playlist])
    assert (made["total"], ids_in(own.ask("get", query_type="playlist", id="Two"))) == (3, [RAG, SATIE])
    own.ask("mutate", action="undo", id=made["call_id"])
    assert own.ask("get", query_type="likes")["tracks"]["total"] == 0
    assert own.ask("get", query_type="playlists")["playlists"]["total"] == 0
    artist = {"action": "create", "kind": "artist", "fields": {"name": "Somebody New"}}
    assert "like" in own.refusal("mutate", changes=[*likes, artist])
    assert own.ask("get", query_type="likes")["tracks"]["total"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "playlist", "fields": {"nme": "x"}}, "a playlist has no 'nme'; it has: name, tracks, about, minutes"),
        ({"kind": "playlist", "fields": {}}, "a playlist needs a 'name'"),
        ({"kind": "playlist", "fields": {"name": "x", "tracks": "all"}}, "must be a list of ids or names"),
        ({"kind": "playlist", "fields": {"name": "x", "minutes": 5}}, "give 'about' too"),
        ({"kind": "playlist", "fields": {"name": "x", "about": "piano", "minutes": -1}}, "'minutes' must be a number"),
        ({"kind": "like"}, "'id' is missing: for a like it is the id or name of an artist, album or track"),
        ({"kind": "like", "id": SATIE, "fields": {"stars": 5}}, "a like has no 'stars'"),
        ({"kind": "like", "id": SATIE, "cascade": True}, "'cascade' is not for the kind 'like'"),
        ({"kind": "play", "id": SATIE, "fields": {"seconds": True}}, "'seconds' must be a number above 0"),
    ],
)
def test_bad_input_is_refused_with_the_field_and_what_would_be_right(
    own: Any, arguments: dict[str, Any], message: str
) -> None:
    assert message in own.refusal("mutate", action="create", **arguments)


def test_what_the_local_user_keeps_survives_a_restart_and_is_readable_by_the_owner_only(own: Any) -> None:
    keep(own, name="Evening", tracks=[SATIE])
    home: Path = own.app.settings.home
    again = App(Settings(home=home, offline=True))
    answer = again.build_gate(["music"]).call(LOCAL_USER, "catalog.get", {"query_type": "playlist", "id": "Evening"})
    again.close()
    assert SATIE in answer.text
    assert (home / "local-user.sqlite").stat().st_mode & 0o777 == 0o600


def test_users_with_accounts_see_their_own_and_a_back_up_has_the_local_users_too(
    sample_music: Any, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "catalogues").symlink_to(sample_music.app.settings.home / "catalogues", target_is_directory=True)
    settings = Settings(home=home, offline=True)
    app, control = App(settings), Control.open(settings)
    for name in ("ada", "bob"):
        control.accounts.create_user(LOCAL_USER, name, password="a long enough password")
    gate = app.build_gate(["music"])
    gate.call(LOCAL_USER, "catalog.mutate", {"action": "create", "kind": "like", "id": RAG})
    app.own_records.close()
    app.own_records.keep_in(OwnStorage(database=control.database))
    ada, bob = (Principal(name=name, actions=frozenset(Action)) for name in ("ada", "bob"))
    liked = gate.call(ada, "catalog.mutate", {"action": "create", "kind": "like", "id": SATIE})
    answers = {one.name: gate.call(one, "catalog.get", {"query_type": "likes"}).text for one in (ada, bob, ada)}
    assert (SATIE in answers["ada"], SATIE in answers["bob"], RAG in answers["ada"]) == (True, False, False)
    assert liked.structured is not None
    stolen = gate.call(bob, "catalog.mutate", {"action": "undo", "id": liked.structured["call_id"]})
    assert (stolen.error_code, SATIE in gate.call(ada, "catalog.get", {"query_type": "likes"}).text) == (
        "not_found",
        True,
    )
    assert "local-user.sqlite" in [item.name for item in plan_backup(app, control).items]
    control.close()
    app.close()
