"""The task that makes maps beside a server: after its start, and when many records of a catalogue are new.

A layout takes seconds of one core, so it is made by a process of its own with low priority. A catalogue is left alone
until it has been quiet for a while, so that no map is made in the middle of a build or while texts are embedded.
"""

import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from stackroom.assembly.app import App
from stackroom.assembly.map_making import MapReport, is_due
from stackroom.background.processes import BESIDE_CALLS, PIPED, ChildProcess, python_module
from stackroom.background.task import Task, TaskContext, TaskStopped
from stackroom.errors import ExpectedError, UnavailableError
from stackroom.shelf.port import Checkpoint
from stackroom.tools.catalogue import OpenCatalogue

logger = logging.getLogger(__name__)

FIRST_S = 10.0
LOOK_S = 5.0
QUIET_LOOKS = 2
"""A catalogue is quiet when so many looks found the same state."""
LOOKS_FOR_VECTORS = 12
"""And when so many did, where records await their vectors."""
LONGEST_S = 3_600.0

State = tuple[int, int]
RunMap = Callable[[str, Checkpoint], str]
"""Makes the map of a catalogue, and returns a report."""


class MapTask:
    """Has the maps made that are missing or due."""

    def __init__(self, app: App, *, run_map: RunMap | None = None) -> None:
        self._app = app
        self._run_map = run_map or partial(run_map_process, app.settings.home)
        self._quiet: dict[str, tuple[State, int]] = {}
        """Catalogue → its state, and how many looks have found it."""

    def task(self) -> Task:
        """Return the task."""
        return Task(
            name="lay out maps",
            description="Makes the maps of catalogues that are missing, or of which many records are new.",
            run=self.run,
            first_s=FIRST_S,
            period_s=LOOK_S,
        )

    def run(self, context: TaskContext) -> str:
        """Have the maps of the served catalogues made that are due, and say which."""
        made = [catalogue.name for catalogue in self._app.list_served() if self._look_at(catalogue, context)]
        return f"made: {', '.join(made)}" if made else "none is due"

    def _look_at(self, catalogue: OpenCatalogue, context: TaskContext) -> bool:
        """Make the map of one catalogue, if it is due, and tell whether it was made."""
        context.check_stopped()
        try:
            if self._is_quiet(catalogue) and self._is_due(catalogue):
                report = self._run_map(catalogue.name, context.check_stopped)
                logger.info("the map of catalogue '%s': %s", catalogue.name, report)
                return True
        except TaskStopped:
            raise
        except (ExpectedError, OSError) as error:
            logger.warning("the map of catalogue '%s' was not made: %s", catalogue.name, error)
        except Exception:  # the others are looked at nevertheless
            logger.exception("the map of catalogue '%s' was not made", catalogue.name)
        return False

    def _is_quiet(self, catalogue: OpenCatalogue) -> bool:
        """Tell whether this look is the one that finds a catalogue quiet."""
        reader = catalogue.shelf.reader()
        state = (reader.change_no, reader.vector_no)
        known, looks = self._quiet.get(catalogue.name, (None, 0))
        looks = looks + 1 if known == state else 1
        self._quiet[catalogue.name] = (state, looks)
        return looks == (LOOKS_FOR_VECTORS if reader.awaiting_vectors else QUIET_LOOKS)

    def _is_due(self, catalogue: OpenCatalogue) -> bool:
        return catalogue.folder is not None and is_due(catalogue.folder, catalogue.shelf.reader())


def run_map_process(home: Path, name: str, checkpoint: Checkpoint) -> str:
    """Run `stackroom map` with low priority, and return its report; an error of the checkpoint ends it."""
    process = ChildProcess(
        f"the process that lays out the map of '{name}'",
        python_module("stackroom", "map", name, "--json"),
        writes=True,
        errors=PIPED,
        environment={**os.environ, "STACKROOM_HOME": str(home)},
        niceness=BESIDE_CALLS,
    )
    output, errors = process.finish(longest_s=LONGEST_S, checkpoint=checkpoint)
    if process.exit_code:
        said = errors.decode(errors="replace").strip().splitlines() or [f"exit code {process.exit_code}"]
        raise UnavailableError(f"{said[-1].removeprefix('stackroom: ')}; to see more, run: stackroom map {name}")
    made = orjson.loads(output)[name]
    return str(MapReport(records=made["records"], is_made=made["made"], changed=made["changed"]))
