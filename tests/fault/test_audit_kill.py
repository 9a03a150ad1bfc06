"""A server that is killed between a change and its audit row: the next start adds the row."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackroom.control.control import Control
from stackroom.model.principal import Outcome
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from support.control import audit_rows

pytestmark = [pytest.mark.row("Z13"), pytest.mark.row("N5")]

CHILD_TIMEOUT_S = 120.0
CHILD = """
import json, os, pathlib, signal, sys
from stackroom.packages import PACKAGES
from stackroom.control.audit.log import AuditLog
from stackroom.control.control import Control
from stackroom.gate.gate import Gate
from stackroom.model.principal import Outcome
from stackroom.model.principal import LOCAL_USER
from stackroom.recommend.recommender import Recommender
from stackroom.search.searcher import Searcher
from stackroom.settings import Settings
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.tools.admin.roles import users_tools
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits.tool import edit_tools
from stackroom.tools.toolbox import Toolbox

home = pathlib.Path(sys.argv[1])
spec = PACKAGES.get("music").spec
control = Control.open(Settings(home=home))
shelf = EmbeddedShelf.create(home / "music", spec, model=None)
music = OpenCatalogue(name="music", spec=spec, shelf=shelf, searcher=Searcher(spec=spec, embedder=None),
                      recommender=Recommender(spec=spec, embedder=None, this_year=lambda: 2026))
gate = Gate(Toolbox([*edit_tools([music]), *users_tools(control)]), observers=[control.audit])

def edit(name):
    answer = gate.call(LOCAL_USER, "catalog.mutate", {"action": "create", "kind": "artist", "fields": {"name": name}})
    assert not answer.is_error, answer.text
    print(json.dumps(answer.structured["call_id"]), flush=True)

edit("Bach")
real = AuditLog.write
def killed(self, entry, *, durable):
    if entry.outcome is Outcome.OK:
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, entry, durable=durable)
AuditLog.write = killed
edit("Satie") if sys.argv[2] == "edit" else gate.call(LOCAL_USER, "users.mutate", {"action": "create", "name": "eve"})
"""


def kill_in(home: Path, change: str) -> str:
    """Run a server that is killed after a change and before its row; return the id of the call before, noted whole."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(home), change],
        stdout=subprocess.PIPE,
        text=True,
        timeout=CHILD_TIMEOUT_S,
        check=False,
        env={**os.environ, "STACKROOM_HOME": str(home)},
    )
    assert done.returncode == -signal.SIGKILL
    (acknowledged,) = done.stdout.split()
    return str(json.loads(acknowledged))


@pytest.mark.parametrize("change", ["edit", "user"])
def test_a_change_that_was_made_has_its_row_after_a_kill(tmp_path: Path, change: str) -> None:
    acknowledged = kill_in(tmp_path, change)
    with (
        closing(Control.open(Settings(home=tmp_path))) as control,
        closing(EmbeddedShelf.open(tmp_path / "music", PACKAGES.get("music").spec)) as shelf,
    ):
        if change == "edit":
            assert [one.id for one in shelf.history().list_changes(limit=9)] == ["artist-satie", "artist-bach"]
        else:
            assert control.accounts.get_user("eve")
        assert [row.call_id for row in audit_rows(control.audit)] == [acknowledged], "the control: without it, no row"
        later = datetime.now(UTC) + timedelta(minutes=1)
        assert [control.audit.add_interrupted(before=later) for _ in range(2)] == [1, 0]
        kept, rebuilt = audit_rows(control.audit)
        assert (kept.call_id, kept.outcome) == (acknowledged, Outcome.OK)
        assert (rebuilt.outcome, rebuilt.principal) == (Outcome.INTERRUPTED, "local")
        assert rebuilt.target == ("catalog.mutate" if change == "edit" else "users.mutate")
        assert control.audit.verify().first_problem is None
