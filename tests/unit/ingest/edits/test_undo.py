"""Undo by field: what the call changed is restored, and what others changed in the same records
since stays.
"""

import pytest

from stackroom.errors import ConflictError
from stackroom.ingest.edits.draft import EditAction, EditRequest
from support.editing import MusicBench

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("Z15"), pytest.mark.row("N5")]


def undo(call_id: str) -> EditRequest:
    return EditRequest(action=EditAction.UNDO, id=call_id)


def test_an_undo_is_refused_by_the_field_that_was_changed_since_and_by_whom() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    first = bench.update(bach, year=1684, about="A composer.")
    bench.update(bach, year=1685, by="ed1")
    bench.update(bach, aliases=["JSB"], by="ed2")
    message = bench.refusal(undo(first), kind=ConflictError)
    assert message.startswith(f"'{bach}' was changed since by ed1 (change 3, ")
    assert message.endswith(" in year; undo that first")


def test_what_is_undone_already_is_said_to_be_so_and_by_which_change() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    changed = bench.update(bach, year=1685)
    undone = bench.undo(changed)
    bench.update(bach, about="A composer.")
    for _ in range(2):
        message = bench.refusal(undo(changed), kind=ConflictError)
        assert message == "it is undone already (change 3 by ed); to do it again, undo that change"
    bench.undo(undone)
    assert bench.get(bach)["year"] == 1685
    assert "it is undone already (change 5 by ed)" in bench.refusal(
        undo(undone), kind=ConflictError
    )


def test_a_creation_or_a_deletion_that_is_undone_is_not_undone_twice() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    made = bench.calls[-1]
    bench.undo(made)
    assert "undone already (change 2 by ed)" in bench.refusal(undo(made), kind=ConflictError)
    bench.undo(bench.calls[-1])
    bench.apply(EditRequest(action=EditAction.DELETE, id=bach))
    deleted = bench.calls[-1]
    bench.undo(deleted)
    bench.update(bach, year=1685)
    assert "undone already (change 5 by ed)" in bench.refusal(undo(deleted), kind=ConflictError)


def test_a_credit_is_undone_though_the_artist_was_renamed_since() -> None:
    bench = MusicBench()
    bach, clara = bench.create("artist", name="Bach"), bench.create("artist", name="Clara")
    album = bench.create("album", name="Air", artist_ids=[bach])
    credit = bench.update(album, artist_ids=[clara])
    bench.update(clara, name="Clara Wieck")
    bench.update(bach, name="J. S. Bach")
    bench.undo(credit)
    assert (bench.get(album)["artist_ids"], bench.get(album)["artists"]) == (
        (bach,),
        ("J. S. Bach",),
    )
