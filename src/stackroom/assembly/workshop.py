"""The part of a library that building a catalogue needs: settings, packages, specs and
embedders.
"""

from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import apsw

from stackroom.catalogue.compiler import LoadedSpec, load_spec
from stackroom.embed.adapters import WatchedEmbedder, build_embedder, find_local, missing_embedder
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, StorageError
from stackroom.library import (
    DECLARATION_FILE,
    NEXT_SPEC_FILE,
    OWN_WORDS,
    PACK_FOLDER,
    Installed,
    Library,
)
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES, CataloguePackage, PackageRegistry
from stackroom.settings import Settings
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded.store import SPEC_MARK
from stackroom.shelf.opening import open_shelf, open_store
from stackroom.shelf.store_place import STORE_FILE, has_records_file


class Workshop:
    """A library with its settings and the catalogue packages it may use, as far as building needs
    it.
    """

    def __init__(self, settings: Settings, *, packages: PackageRegistry = PACKAGES) -> None:
        self.settings = settings
        self.packages = packages
        self.library = Library(settings.catalogues_folder)
        self._local: dict[str, WatchedEmbedder | None] = {}

    @cached_property
    def embedder(self) -> WatchedEmbedder:
        """The embedder that the settings name; counts its failures, as those of all models do."""
        settings = self.settings
        return WatchedEmbedder(
            build_embedder(settings.embedding, settings.models_folder, offline=settings.offline)
        )

    def embedder_of(self, model: ModelId | None) -> WatchedEmbedder:
        """Return the embedder of a model, shared by all catalogues; the one that the settings name
        where there is none.
        """
        default = self.embedder
        return (
            default
            if model is None or model == default.model
            else self.find_local(model.name) or default
        )

    def embedder_named(self, name: str) -> Embedder:
        """Return the embedder of this name; one that fails with the reason where it is not
        installed.
        """
        if name == self.embedder.model.name:
            return self.embedder
        return self.find_local(name) or missing_embedder(name)

    def find_local(self, name: str) -> WatchedEmbedder | None:
        """Return a local model by its name, made once; None for one that is not known."""
        if name not in self._local:
            local = find_local(self.settings.models_folder, name, self.settings.embedding)
            self._local[name] = WatchedEmbedder(local) if local else None
        return self._local[name]

    def spec_of(self, installed: Installed) -> LoadedSpec:
        """Return the spec that a catalogue follows: its own, or that of its package."""
        own = installed.own_declaration and (
            _find_pending_spec(installed.folder) or installed.own_declaration
        )
        return with_own_words(
            load_spec(own) if own else self.package_of(installed).loaded, installed
        )

    def find_package(self, name: str) -> CataloguePackage | None:
        """Return a package by its name."""
        return self.packages.get(name) if name in self.packages.names else None

    def package_of(self, installed: Installed) -> CataloguePackage:
        """Return the package that a catalogue follows; refuse one that is not installed."""
        if (package := self.find_package(installed.spec_name)) is not None:
            return package
        name = installed.name
        raise StorageError(
            f"'{name}' needs the catalogue package '{installed.spec_name}', which is not installed;"
            f" install it with pip. If the spec was your own, {name}/{DECLARATION_FILE} is missing"
            " in the library; put it back from a back-up, or give it again: stackroom add FILE"
            f" --spec {DECLARATION_FILE} --name {name}"
        )

    def open_shelf(self, installed: Installed) -> CatalogueShelf:
        """Open the shelf of an installed catalogue for reading."""
        return open_shelf(installed.folder, self.spec_of(installed).spec)

    def close(self) -> None:
        """Close the embedder, if it was used."""
        if (used := self.__dict__.get("embedder")) is not None:
            used.close()


def with_own_words(loaded: LoadedSpec, installed: Installed) -> LoadedSpec:
    """Return a spec with what the owner of a catalogue chose in place of its title, summary and
    editability.
    """
    chosen = {
        name: value for name in OWN_WORDS if (value := getattr(installed, name)) not in ("", None)
    }
    return replace(loaded, spec=replace(loaded.spec, **chosen)) if chosen else loaded


def _find_pending_spec(folder: Path) -> Path | None:
    """Return the spec of a release that waits to take the former one's place, where the store has
    its mark.
    """
    path = folder / PACK_FOLDER / NEXT_SPEC_FILE
    if not path.is_file():
        return None
    try:
        spec = load_spec(path).spec
        if has_records_file(folder):
            with closing(
                apsw.Connection(str(folder / STORE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
            ) as db:
                mark = db.execute("SELECT value FROM meta WHERE name = ?", (SPEC_MARK,)).get
        else:
            with closing(open_store(folder, spec)) as store:
                mark = store.spec_mark()
    except (ExpectedError, apsw.Error):
        return None
    return path if spec.digest == mark else None
