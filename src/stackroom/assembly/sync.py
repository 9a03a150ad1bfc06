"""Collections: catalogues published as tables of a LanceDB database, and synced from them.

Each table `NAME_documents` of a place becomes, or updates, the catalogue NAME of the library,
unless that is from elsewhere. A collection that cannot be taken in is skipped. A place that fails
changes nothing. This loads LanceDB.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe, package_recipe
from stackroom.assembly.model_choice import find_present_model
from stackroom.background.background import FileLease
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.errors import ExpectedError, InputError, ModelError, StorageError
from stackroom.ingest.pipeline import IngestReport, Progress
from stackroom.library import Installed, require_name
from stackroom.sources.collections import (
    CollectionState,
    PlaceState,
    SyncOutcome,
    load_state,
    note_problem,
    save_state,
    stamp,
)
from stackroom.sources.lance.layout import publish, require_allowed
from stackroom.sources.lance.rows import LancePlace, LanceRows
from stackroom.sources.location import TABLE_PREFIX

LOCK_FILE = "collections.lock"
MOST_FAILURES = 2
"""A place at which so many tables in a row could not be read is taken to be away: the others are
not tried.
"""


def sync_place(
    app: App,
    place: str,
    *,
    names: Sequence[str] = (),
    progress: Callable[[str], Progress] = lambda _name: lambda _report: None,
) -> PlaceState:
    """Bring the library up to the tables of a place: those of `names`, else of the settings, else
    all; record it.
    """
    home = app.settings.home
    busy = "another process is syncing the collections of this library; try again later"
    with FileLease(home / LOCK_FILE).held(
        wait_s=0, busy=busy, failed=f"{home}: the collections cannot be synced"
    ):
        try:
            opened = LancePlace(place, app.settings)
            found = opened.list_collections()
        except ExpectedError as error:
            note_problem(home, place, error.message)
            raise
        before = load_state(home, place)
        run = _Sync(app=app, place=opened, uri=place, found=found, before=before)
        synced = (collection.name for collection in before.collections if collection.synced_at)
        expected = names or app.settings.collections.names or sorted({*found, *synced})
        states = [run.look_at(name, progress(name)) for name in dict.fromkeys(expected)]
        kept = (
            [collection for collection in before.collections if collection.name not in expected]
            if names
            else []
        )
        state = PlaceState(place=place, looked_at=stamp(), collections=(*kept, *states))
        save_state(home, state)
        return state


@dataclass(slots=True, kw_only=True)
class _Sync:
    """One look at the tables of a place."""

    app: App
    place: LancePlace
    uri: str
    found: Sequence[str]
    before: PlaceState
    _failures: int = 0

    def look_at(self, name: str, progress: Progress) -> CollectionState:
        """Sync one collection, and return how that went."""
        before = self.before.find(name) or CollectionState(name=name, outcome=SyncOutcome.SKIPPED)
        if name not in self.found:
            reason = (
                f"{self.uri} has no table {name}_documents; collections there:"
                f" {', '.join(self.found) or 'none'}"
            )
            return replace(before, outcome=SyncOutcome.SKIPPED, reason=reason)
        if self._failures >= MOST_FAILURES:
            return replace(
                before,
                outcome=SyncOutcome.FAILED,
                reason="not tried, since other tables could not be read",
            )
        try:
            state = self._sync(name, progress)
        except ExpectedError as error:
            is_failed = isinstance(error, StorageError)
            self._failures += is_failed
            outcome = SyncOutcome.FAILED if is_failed else SyncOutcome.SKIPPED
            return replace(before, outcome=outcome, reason=error.message)
        self._failures = 0
        return state

    def _sync(self, name: str, progress: Progress) -> CollectionState:
        require_name(name)
        installed = self.app.library.find_installed(name)
        if installed is not None and (other := self._find_other_source(installed)):
            reason = f"the library has a catalogue of this name from {other}, which is kept"
            return CollectionState(name=name, outcome=SyncOutcome.OWN, reason=reason)
        table = self.place.open(name)
        return CollectionState(
            name=name,
            outcome=SyncOutcome.SYNCED,
            reason="; ".join(self._add(name, table, installed, progress).notes),
            version=table.version,
            rows=table.count_rows(),
            synced_at=stamp(),
        )

    def _find_other_source(self, installed: Installed) -> str | None:
        """Return a source of a catalogue that is neither its table nor sample data."""
        prefix = f"{TABLE_PREFIX}{self.uri}#"
        others = [source for source in installed.sources if not source.startswith(prefix)]
        if others and installed.own_declaration is None:
            is_sample = self.app.package_of(installed).is_sample
            others = [other for other in others if not is_sample(other)]
        return ", ".join(others) or ("an unknown source" if not installed.sources else None)

    def _add(
        self, name: str, table: LanceRows, installed: Installed | None, progress: Progress
    ) -> IngestReport:
        recipe = find_recipe(self.app, table)
        model = self._choose_model(table, installed)
        add = partial(
            add_catalogue,
            self.app,
            table,
            recipe=recipe,
            name=name,
            progress=progress,
            replaces_samples=True,
        )
        try:
            return add(model=model)
        except ModelError as error:
            if (
                installed is not None
                and find_present_model(installed, recipe.loaded.spec) is not None
            ):
                raise
            report = add(embed=False)
            report.notes.append(f"it is searched by words alone: {error.message}")
            return report

    def _choose_model(self, table: LanceRows, installed: Installed | None) -> str | None:
        """Return the model of a new catalogue: that of the table's vectors, where it is
        installed.
        """
        model = table.find_model()
        if installed is not None or model is None or self.app.settings.embedding.kind != "local":
            return None
        embedder = self.app.embedder_named(model.name)
        return model.name if embedder.model == model and embedder.check() is None else None


def find_recipe(app: App, table: LanceRows) -> Recipe:
    """Return how rows become records: by the spec of the publisher, or by the package that takes
    passages.
    """
    if (description := table.description) is None:
        if (package := app.packages.find_folder_reader()) is None:
            message = (
                "others wrote the table, and no installed package takes passages of texts; install"
                " one with pip"
            )
            raise InputError(message)
        return package_recipe(package)
    if description.get("declaration"):
        return own_recipe(LoadedSpec.of(str(description["declaration"]), origin=table.name))
    if (layout := str(description["catalogue"])) not in app.packages.names:
        message = (
            f"its records follow the catalogue package '{layout}', which is not installed; install"
            " it with pip"
        )
        raise InputError(message)
    return package_recipe(app.packages.get(layout))


def publish_catalogue(
    app: App, name: str, uri: str, *, progress: Callable[[int], object]
) -> dict[str, Any]:
    """Write a catalogue to its table in a database; return the table, its version and rows, and if
    it was written.
    """
    require_allowed(uri, offline=app.settings.offline)
    installed = app.library.get_installed(name)
    own = installed.own_declaration
    declaration = own.read_text(encoding="utf-8") if own else None
    with closing(app.open_shelf(installed)) as shelf:
        return publish(
            shelf.reader(), shelf.spec, uri, name=name, declaration=declaration, progress=progress
        )
