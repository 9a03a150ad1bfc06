"""Checking for newer releases: what a server asks the places of the served catalogues.

Only the places of catalogues that were installed from one are asked, once a day or so over all servers of the library,
and nothing waits for them. What is found is logged, and told by `/health`, `stackroom doctor` and `stackroom list`.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from stackroom.background.background import utc_now
from stackroom.errors import ExpectedError
from stackroom.library import PACK_FOLDER, Library
from stackroom.packs.installed import SOURCE_FILE, InstalledPack
from stackroom.packs.places import find_release, open_place, require_successor
from stackroom.packs.status import ReleaseCheck, ReleaseStatus
from stackroom.settings import Settings

logger = logging.getLogger(__name__)

AFTER_PROBLEM = timedelta(hours=1)
"""The longest pause after a place did not answer."""


class ReleaseChecker:
    """Asks the places of catalogues for newer releases, each when it is due."""

    def __init__(
        self, library: Library, settings: Settings, status: ReleaseStatus, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._library = library
        self._settings = settings
        self._status = status
        self._now = now
        self._reported: set[tuple[str, str]] = set()

    def check_once(self, name: str) -> None:
        """Ask the place of one catalogue, if a check is due, and log what is newer."""
        pack = InstalledPack(self._library.folder / name / PACK_FOLDER)
        if not (pack.folder / SOURCE_FILE).is_file():
            return
        last, now, pause = self._status.find_check(name), self._now(), timedelta(hours=self._settings.updates.every_h)
        if last is not None and last.problem:
            pause = min(pause, AFTER_PROBLEM)
        if last is None or not timedelta(0) <= now - last.asked_at < pause:
            try:
                source, manifest = pack.find_source(), pack.find_manifest()
                if source is not None and manifest is not None:
                    offered = find_release(open_place(source.place, self._settings), key=source.key).manifest
                    newest = offered if require_successor(offered, manifest) else manifest
                    self._status.save_check(
                        name, ReleaseCheck(asked_at=now, version=newest.version, content=newest.content)
                    )
            except ExpectedError as error:  # also where the release could not follow the installed one
                logger.info("the place of catalogue '%s' could not be asked: %s", name, error.message)
                self._status.save_check(name, ReleaseCheck(asked_at=now, problem=error.message))
        newer = self._status.find_newer(name)
        if newer is not None and (name, newer.version) not in self._reported:
            self._reported.add((name, newer.version))
            logger.warning("catalogue '%s' is outdated: %s", name, newer)
