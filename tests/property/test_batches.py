"""A batch of changes comes to what a plain model says, or is refused with nothing changed; its undo
restores all.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.errors import ExpectedError
from stackroom.model.record import Record
from support.editing import MusicBench, batch_of

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("Z15")]

NAMES = ("Bach", "Clara", "Air")
RELATED = {"artist": (), "album": ("artists",), "track": ("artists", "album")}
ID_FIELDS = {"artists": "artist_ids", "album": "album_id"}
TO = {"artists": "artist", "album": "album"}

names = st.sampled_from(NAMES)
years = st.none() | st.sampled_from((1685, 1750))
"""Few values, so that many batches name records that are there, twice or not at all."""
creations = st.builds(
    lambda kind, name, year, artist, album: {
        "action": "create",
        "kind": kind,
        "fields": {"name": name}
        | ({"year": year} if year else {})
        | ({"artists": [artist]} if artist and kind != "artist" else {})
        | ({"album": album} if album and kind == "track" else {}),
    },
    st.sampled_from(("artist", "album", "track")),
    names,
    years,
    st.none() | names,
    st.none() | names,
)
targets = st.integers(0, 9)
updates = st.builds(
    lambda target, name, year: {
        "action": "update",
        "target": target,
        "fields": ({"name": name} if name else {}) | {"year": year},
    },
    targets,
    st.none() | names,
    years,
)
deletions = st.builds(lambda target: {"action": "delete", "target": target}, targets)
batches = st.lists(st.one_of(creations, creations, updates, deletions), min_size=1, max_size=6)


@dataclass(kw_only=True)
class Refused(Exception):
    """The model refuses the batch."""

    why: str


@dataclass
class Model:
    """Records by id as plain dictionaries with their kind; a batch is made on a copy."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Ids that records have or had."""

    def after(self, changes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the records after a batch."""
        left = {one: dict(record) for one, record in self.records.items()}
        ids = [self._begin(left, change, changes[:place]) for place, change in enumerate(changes)]
        created = {
            one for one, change in zip(ids, changes, strict=True) if change["action"] == "create"
        }
        written = {
            one for one, change in zip(ids, changes, strict=True) if change["action"] != "delete"
        }
        for field_name in ("artists", "album"):
            for one in sorted(created, key=lambda one: RANK[left[one]["kind"]]):
                self._relate(left, one, field_name, written)
        for record in left.values():
            if any(target not in left for target in _targets(record)):
                raise Refused(why="a record that others name is deleted")
        for record in left.values():
            for field_name in RELATED[record["kind"]]:
                titles = [left[target]["name"] for target in _ids(record, field_name)]
                if titles:
                    record[field_name] = titles if field_name == "artists" else titles[0]
        return left

    def _begin(
        self, left: dict[str, dict[str, Any]], change: dict[str, Any], earlier: list[dict[str, Any]]
    ) -> str:
        if change["action"] == "create":
            bare = f"{change['kind']}-{change['fields']['name'].lower()}"
            numbered = (bare if number == 1 else f"{bare}-{number}" for number in range(1, 100))
            made = next(one for one in numbered if one not in self.used and one not in left)
            left[made] = {"kind": change["kind"], **change["fields"]}
            return made
        if any(one.get("id") == change["id"] for one in earlier) or change["id"] not in left:
            raise Refused(why="changed twice")
        if change["action"] == "delete":
            del left[change["id"]]
            return str(change["id"])
        left[change["id"]].update(change["fields"])
        left[change["id"]] = {
            name: value for name, value in left[change["id"]].items() if value is not None
        }
        return str(change["id"])

    def _relate(
        self, left: dict[str, dict[str, Any]], one: str, field_name: str, written: set[str]
    ) -> None:
        """Resolve the name in a field of a new record: records of the batch first, told apart by
        their artists.
        """
        record = left[one]
        name = record.pop(field_name, None)
        if name is None:
            return
        asked = name[0] if field_name == "artists" else name
        named = [
            key
            for key, other in left.items()
            if other["kind"] == TO[field_name] and other["name"] == asked
        ]
        pool = [key for key in named if key in written] or named
        own = set(_targets(record))
        alike = (
            [key for key in pool if own.intersection(_targets(left[key]))]
            if len(pool) > 1
            else pool
        )
        found = alike or pool
        if len(found) != 1:
            raise Refused(why=f"{len(found)} are called {asked}")
        record[ID_FIELDS[field_name]] = found if field_name == "artists" else found[0]


RANK = {"artist": 0, "album": 1, "track": 2}


def _ids(record: dict[str, Any], field_name: str) -> list[str]:
    value = record.get(ID_FIELDS[field_name]) or []
    return [value] if isinstance(value, str) else list(value)


def _targets(record: dict[str, Any]) -> list[str]:
    return [target for field_name in RELATED[record["kind"]] for target in _ids(record, field_name)]


def plain(records: dict[Any, Record]) -> dict[str, dict[str, Any]]:
    """Return stored records as the model has them."""
    return {
        str(one): {
            "kind": record.kind,
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in record.fields.items()
            },
        }
        for one, record in records.items()
    }


def with_ids(changes: list[dict[str, Any]], known: list[str]) -> list[dict[str, Any]]:
    """Return changes whose targets are ids of records that are there; an update or deletion of none
    is left out.
    """
    if not known:
        return [change for change in changes if "target" not in change]
    return [
        {**change, "id": known[change["target"] % len(known)]} if "target" in change else change
        for change in changes
    ]


@given(st.lists(batches, min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_a_batch_does_what_a_plain_model_says_or_is_refused_whole_and_its_undo_restores_all(
    given_batches: list[list[dict[str, Any]]],
) -> None:
    bench, model = MusicBench(), Model()
    states = [bench.state()]
    for given_batch in given_batches:
        changes = with_ids(given_batch, sorted(model.records))
        if not changes:
            continue
        before = bench.state()
        try:
            expected = model.after(changes)
        except Refused:
            with pytest.raises(ExpectedError):
                bench.edits.plan(*batch_of(changes))
            assert bench.state() == before
            continue
        bench.batch(*changes)
        assert plain(bench.state()) == expected
        model.records, model.used = expected, model.used | set(expected)
        states.append(bench.state())
    for call_id, state in zip(reversed(bench.calls), reversed(states[:-1]), strict=True):
        if bench.shelf.history().list_changes(call_id=call_id, limit=1):
            bench.undo(call_id)
        assert bench.state() == state


values = st.none() | st.sampled_from((1, 2))
edited = st.fixed_dictionaries(
    {}, optional={"year": st.none() | st.sampled_from((1685, 1750)), "plays": values}
)


@given(st.lists(edited.filter(bool), min_size=1, max_size=5), st.integers(0, 4))
@settings(max_examples=50, deadline=None)
def test_an_undo_restores_the_fields_of_its_call_that_nobody_touched_since_and_no_others(
    edits: list[dict[str, Any]], pick: int
) -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    states = [dict(bench.get(bach))]
    calls = []
    for fields in edits:
        calls.append(bench.update(bach, **fields))
        states.append(dict(bench.get(bach)))
    undone = pick % len(edits)
    before, after, now = states[undone], states[undone + 1], states[-1]
    changed = [name for name in ("year", "plays") if before.get(name) != after.get(name)]
    if not changed or any(now.get(name) != after.get(name) for name in changed):
        with pytest.raises(ExpectedError):
            bench.undo(calls[undone])
        assert bench.get(bach) == now
        return
    bench.undo(calls[undone])
    restored = {**now, **{name: before.get(name) for name in changed}}
    assert bench.get(bach) == {name: value for name, value in restored.items() if value is not None}
    bench.undo(bench.calls[-1])
    assert bench.get(bach) == now
