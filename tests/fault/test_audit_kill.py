"""A server that is killed between a change and its audit row: the next start adds the row."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackroom.control.control import Control
from stackroom.model.principal import Outcome
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.opening import open_shelf
from support.control import audit_rows
from support.dying import change_and_die
from support.kills import KILLED, run_child

pytestmark = [pytest.mark.row("Z13"), pytest.mark.row("N5")]


def kill_in(home: Path, change: str) -> str:
    """Make changes in a process that is killed after one and before its row; return the id of the
    call before.
    """
    ended = run_child(change_and_die, home, change)
    assert ended.code == KILLED
    (acknowledged,) = ended.said
    return acknowledged


@pytest.mark.parametrize("change", ["edit", "user"])
def test_a_change_that_was_made_has_its_row_after_a_kill(tmp_path: Path, change: str) -> None:
    acknowledged = kill_in(tmp_path, change)
    with (
        closing(Control.open(Settings(home=tmp_path))) as control,
        closing(open_shelf(tmp_path / "music", PACKAGES.get("music").spec)) as shelf,
    ):
        if change == "edit":
            assert [one.id for one in shelf.history().list_changes(limit=9)] == [
                "artist-satie",
                "artist-bach",
            ]
        else:
            assert control.accounts.get_user("eve")
        assert [row.call_id for row in audit_rows(control.audit)] == [acknowledged], (
            "the control: without it, no row"
        )
        later = datetime.now(UTC) + timedelta(minutes=1)
        assert [control.audit.add_interrupted(before=later) for _ in range(2)] == [1, 0]
        kept, rebuilt = audit_rows(control.audit)
        assert (kept.call_id, kept.outcome) == (acknowledged, Outcome.OK)
        assert (rebuilt.outcome, rebuilt.principal) == (Outcome.INTERRUPTED, "local")
        assert rebuilt.target == ("catalog.mutate" if change == "edit" else "users.mutate")
        assert control.audit.verify().first_problem is None
