"""What must be so when a chaos run is over: nothing acknowledged is lost, everything is in the
audit, all is whole.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from chaos.actors import Downloader, Editor, Keeper, read_state
from chaos.albums import TRACKS, album_files
from chaos.client import Caller
from chaos.world import EDITED, World
from stackroom.assembly.app import App
from stackroom.control.control import Control
from support.control import audit_rows
from support.launching import run

DOCTOR_TIMEOUT_S = 75  # what a server watches is written down every minute


def find_losses(editors: Iterable[Editor], caller: Caller) -> list[str]:
    """Return the records that are not in a state that they may have."""
    lost = []
    for editor in editors:
        for record_id, entry in editor.entries.items():
            seen = read_state(caller.call("catalog.get", query_type="artist", id=record_id))
            if seen not in entry.states:
                lost.append(
                    f"{record_id} is {seen!r} and should be one of {sorted(map(str, entry.states))}"
                )
    return lost


def find_lost_albums(downloader: Downloader, caller: Caller, folder: Path) -> list[str]:
    """Return the acknowledged albums that are not there with the bytes that the provider has."""
    states = _download_states(caller)
    lost = []
    for album in sorted(downloader.acknowledged):
        files = [body for path, body in album_files(album).items() if path.endswith(".wav")]
        found = [
            path.read_bytes() for path in sorted((folder / "The Weather" / album).glob("*.wav"))
        ]
        if states.get(album) != "done" or sorted(found) != sorted(files) or len(found) != TRACKS:
            lost.append(f"album {album}: {states.get(album)}, {len(found)} of {TRACKS} files")
    return lost


def _download_states(caller: Caller) -> Mapping[str, str]:
    """Return the state of the latest request for each album."""
    states: dict[str, str] = {}
    for state in ("queued", "running", "failed", "cancelled", "done"):
        answer = caller.call("downloads.query", query_type="queue", state=state, limit=100)
        found = answer.value["downloads"] if answer.is_ok else []
        states |= {one["album"]: state for one in found}
    return states


def find_lost_users(keeper: Keeper, control: Control) -> list[str]:
    """Return the acknowledged users that do not exist."""
    known = set()
    for offset in range(0, len(keeper.acknowledged) + 1_000, 1_000):
        known |= {one.name for one in control.accounts.list_users(offset=offset, limit=1_000)[0]}
    return [f"user {name}" for name in keeper.acknowledged if name not in known]


def find_audit_gaps(world: World, control: Control, editors: Iterable[Editor]) -> list[str]:
    """Return the changes by calls that have no row in the audit, and a chain that is broken."""
    control.audit.add_interrupted(before=datetime.now(UTC))
    noted = {row.call_id for row in audit_rows(control.audit, limit=10_000_000)}
    app = App(world.settings)
    try:
        changes = app.open_catalogue(EDITED).shelf.history().list_changes(limit=1_000_000)
    finally:
        app.close()
    names = {editor.caller.actor for editor in editors}
    made = {one.author.call_id for one in changes if one.author.principal in names}
    gaps = made - noted
    lost = {call for editor in editors for call in editor.acknowledged} - made
    problem = control.audit.verify().first_problem
    return [
        *(f"change by the call {call} has no row in the audit" for call in sorted(gaps)),
        *(f"the acknowledged call {call} is not in the change log" for call in sorted(lost)),
        *([f"the audit's chain: {problem}"] if problem else []),
    ]


def ask_doctor(world: World) -> list[str]:
    """Return what `stackroom doctor` finds wrong; servers write what their tasks do every ten
    seconds.
    """
    ends_at = time.monotonic() + DOCTOR_TIMEOUT_S
    while (bad := _run_doctor(world)) and time.monotonic() < ends_at:
        time.sleep(1)
    return bad


def _run_doctor(world: World) -> list[str]:
    environment = {**os.environ, **world.places[0].environment, "STACKROOM_HOME": str(world.home)}
    done = run("doctor", environment=environment)
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    return bad or (
        [f"doctor ended with {done.returncode}: {done.stderr[-300:]}"] if done.returncode else []
    )


def count_acknowledged(
    editors: Sequence[Editor], downloader: Downloader, keeper: Keeper
) -> dict[str, int]:
    """Return how much was acknowledged."""
    return {
        "edits": sum(len(one.acknowledged) for one in editors),
        "albums": len(downloader.acknowledged),
        "users": len(keeper.acknowledged),
    }
