"""`catalog.mutate` with several changes: an album with its tracks."""

from dataclasses import dataclass
from typing import Any

import pytest

from stackroom.control.accounts.limits import RateLimiter
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, Principal, Quotas
from stackroom.packages import PACKAGES
from stackroom.tools.edits import edit_tools
from stackroom.tools.toolbox import Toolbox
from support.editing import MusicBench
from support.memory_shelf import MemoryShelf
from support.served import Served, open_shelf

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("Z15")]

MUSIC = PACKAGES.get("music").spec
AGENT = Principal(
    name="agent",
    actions=frozenset({Action.ACCESS_CATALOG, Action.EDIT_CATALOG}),
    quotas=Quotas(read=60, write=10, sql=0),
)
FOXES = {"action": "create", "kind": "artist", "fields": {"name": "The Tin Foxes"}}
FERRY = {
    "action": "create",
    "kind": "album",
    "fields": {"name": "Night Ferry", "artists": ["The Tin Foxes"]},
}


@dataclass(frozen=True, kw_only=True)
class ServedMusic(Served):
    """A music catalogue behind a gate."""

    bench: MusicBench

    def mutate(self, **arguments: Any) -> dict[str, Any]:
        answer = self.call("catalog.mutate", principal=AGENT, **arguments)
        assert not answer.is_error, answer.text
        assert answer.structured is not None
        return answer.structured

    def refused(self, **arguments: Any) -> str:
        """Return why a change is refused, which must leave all as it was."""
        before = self.bench.state()
        answer = self.call("catalog.mutate", principal=AGENT, **arguments)
        assert answer.is_error
        assert self.bench.state() == before
        return answer.text


@pytest.fixture
def served(embedder: Any) -> ServedMusic:
    shelf = MemoryShelf(MUSIC, model=embedder.model)
    catalogue = open_shelf(shelf, embedder)
    toolbox = Toolbox(edit_tools([catalogue]), catalogues=[catalogue])
    return ServedMusic(bench=MusicBench(shelf=shelf), gate=Gate(toolbox, limiter=RateLimiter()))


def ids(result: dict[str, Any]) -> list[str]:
    return [change["id"] for change in result["changes"]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"changes": [FOXES, FERRY]},
        {"changes": [FERRY, FOXES]},
        {
            "action": "create",
            "changes": [
                {**FERRY, "action": None},
                {"kind": "artist", "fields": {"name": "The Tin Foxes"}},
            ],
        },
        {
            "changes": (
                '[{"action": "create", "kind": "artist", "fields": "{\\"name\\": \\"The Tin'
                ' Foxes\\"}"}]'
            )
        },
        {"action": "Create", "kind": "Artist", "fields": {"title": "The Tin Foxes"}},
    ],
)
def test_the_obvious_spellings_of_several_changes_are_taken(
    served: ServedMusic, arguments: dict[str, Any]
) -> None:
    made = served.mutate(**arguments)
    assert "artist-the-tin-foxes" in ids(made)
    assert served.bench.get("artist-the-tin-foxes") == {"name": "The Tin Foxes"}
    albums = [one for one in served.bench.state().values() if one.kind == "album"]
    assert all(one.fields["artist_ids"] == ("artist-the-tin-foxes",) for one in albums)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "'action' is missing; one of create, update, delete, undo"),
        (
            {"changes": [{"kind": "artist", "fields": {"name": "x"}}]},
            "'changes.0.action' is missing",
        ),
        ({"changes": [FOXES] * 101}, "'changes'"),
        ({"changes": [FOXES], "id": "x"}, "'id' and 'fields' are given in each of 'changes'"),
        (
            {"changes": [FOXES, {"action": "update", "id": "x", "feilds": {}, "fields": {}}]},
            "unknown argument 'changes.1.feilds'",
        ),
        ({"changes": [FERRY]}, "'changes.0.fields.artists': there is no artist 'The Tin Foxes'"),
        (
            {"changes": [{"action": "delete", "id": "Clara Schuman"}]},
            "'changes.0': there is no record 'Clara Schuman'",
        ),
    ],
)
def test_what_is_wrong_with_a_batch_is_named_with_its_place_and_nothing_is_changed(
    served: ServedMusic, arguments: dict[str, Any], says: str
) -> None:
    served.mutate(action="create", kind="artist", fields={"name": "Clara Schumann"})
    assert says in served.refused(**arguments)


def test_records_of_a_batch_are_meant_by_id_or_by_name(served: ServedMusic) -> None:
    served.mutate(changes=[FOXES, FERRY])
    made = served.mutate(
        changes=[
            {"action": "update", "id": "Night Ferry", "fields": {"year": 1998}},
            {"action": "update", "id": "music/artist-the-tin-foxes", "fields": {"year": 1990}},
        ]
    )
    assert ids(made) == ["album-night-ferry", "artist-the-tin-foxes"]
    assert made["notes"] == ["'Night Ferry' was taken for Night Ferry (album, album-night-ferry)"]
