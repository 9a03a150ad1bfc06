"""Catalogue packages: everything one catalogue brings, as one frozen value, and the registry that
finds them.

An installed distribution offers it by an entry point of the group `stackroom.catalogues`, whose
name is the catalogue's:

    [project.entry-points."stackroom.catalogues"]
    games = "games:PACKAGE"

The engine reads the value and never hands itself over. Only the declaration is required.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ExpectedError, NotFoundError, StorageError, did_you_mean
from stackroom.frozen import frozen
from stackroom.ingest.mapping import RowMapping
from stackroom.model.record import Record
from stackroom.sources.port import Provider, RowSource

if TYPE_CHECKING:  # building a catalogue needs its package, and no tools
    from stackroom.tools.catalogue import OpenCatalogue
    from stackroom.tools.faces.mcp import DeclaredTool
    from stackroom.tools.operation import AnyOperation
    from stackroom.tools.own_storage import OwnKinds
    from stackroom.tools.resources import ResourceSpec

logger = logging.getLogger(__name__)

Catalogues: TypeAlias = "Sequence[OpenCatalogue]"
"""The open catalogues that follow one package, at least one."""
NameFile: TypeAlias = Callable[[Record, str, Callable[[str], Record | None]], str | None]
GROUP = "stackroom.catalogues"
EntryPoints = Iterable[EntryPoint]


load_target = pkgutil.resolve_name
"""Imports what `module:attribute` names."""


def deferred(target: str) -> Callable[..., Any]:
    """Return a function that imports `module:name` when it is called, so that loading a package is
    quick: it calls the function of that name, or returns the value.
    """

    def call(*arguments: Any) -> Any:
        found = load_target(target)
        return found(*arguments) if callable(found) else found

    return call


@frozen
class Sample:
    """Sample data that ships with a package, and the name of the catalogue that `stackroom init`
    makes of it.
    """

    name: str
    files: Traversable
    """A file or folder, read like any other source of the package."""
    title: str = ""
    """The title of that catalogue; empty: the one that the declaration has."""


@dataclass(frozen=True, kw_only=True)
class CataloguePackage:
    """A catalogue's declaration, and optionally its rows, samples, tools, media and server
    parts.
    """

    declaration: Traversable
    """The `catalogue.toml`, as `importlib.resources.files(__package__) / "catalogue.toml"`."""
    mapping: RowMapping | None = None
    """How rows become records; None: as the declaration says."""
    open_rows: Callable[[str], RowSource | None] = lambda _location: None
    """Opens a location that the package reads in its own way; None leaves it to the engine."""
    keep_files: Callable[[str, Path], None] = lambda _location, _folder: None
    """Copies what the tools need of the files at a location into the catalogue's folder."""
    providers: Mapping[str, Provider] = field(default_factory=dict)
    """Network sources by the prefix of their locations: `stackroom add PREFIX:QUERY`."""
    samples: tuple[Sample, ...] = ()
    reads_folders: bool = False
    """Whether `stackroom add FOLDER` without --as makes a catalogue of this package."""
    tools: Callable[[Catalogues], Sequence[DeclaredTool]] = lambda _catalogues: ()
    """The tools over the catalogues that follow the package."""
    replaces_generic_tools: bool = False
    """Whether a server of one such catalogue leaves out search, fetch, similar and browse: the
    tools cover them.
    """
    resources: Callable[[Catalogues], Sequence[ResourceSpec]] = lambda _catalogues: ()
    own_kinds: Callable[[Catalogues], Sequence[OwnKinds]] = lambda _catalogues: ()
    """Kinds that belong to users, such as likes, which `catalog.mutate` changes too."""
    media: NameFile | None = None
    """Names the file of a record, its `audio` or `cover`, in the catalogue's own folder or one that
    it was built from; gets the record, which of both, and what finds another record by its id.
    """
    endpoints: Callable[[], Sequence[AnyOperation]] = tuple
    """Operations that are HTTP endpoints. On a server with accounts, those of `server` with the
    same method and path replace them.
    """
    server: str = ""
    """`module:function` that gives the package's parts of a shared server; loaded when one
    starts.
    """

    @cached_property
    def loaded(self) -> LoadedSpec:
        """The declaration's text, and the spec compiled from it."""
        return LoadedSpec.of(
            self.declaration.read_text(encoding="utf-8"), origin=str(self.declaration)
        )

    def is_sample(self, location: str) -> bool:
        """Tell whether a location is sample data of the package, of this installation, another one
        or a former one.
        """
        if any(location == str(sample.files) for sample in self.samples) or self.is_former_sample(
            location
        ):
            return True
        # in another installation, it is beside the same declaration
        name = Path(str(self.declaration)).name
        return any((folder / name).is_file() for folder in self._folders_around(location))

    def is_former_sample(self, location: str) -> bool:
        """Tell whether a location was sample data of the package where it was installed before."""
        return bool(self._folders_around(location)) and not Path(location).exists()

    def _folders_around(self, location: str) -> list[Path]:
        """Return the folders around a location that are named like the package's, and have its
        sample data in it.
        """
        own = Path(str(self.declaration)).parent
        paths = [Path(str(sample.files)) for sample in self.samples]
        tops = {path.relative_to(own).parts[0] for path in paths if own in path.parents}
        around = (Path(location), *Path(location).parents)
        return [
            folder
            for inside, folder in pairwise(around)
            if folder.name == own.name and inside.name in tops
        ]

    @property
    def spec(self) -> CatalogueSpec:
        """The compiled spec."""
        return self.loaded.spec

    @property
    def name(self) -> str:
        """The name of the spec, which is the entry point's too."""
        return self.spec.name


class PackageRegistry:
    """Finds packages by name. One that cannot be loaded is reported and skipped; the others stay
    usable.
    """

    def __init__(
        self, find_entry_points: Callable[[], EntryPoints] = lambda: entry_points(group=GROUP)
    ) -> None:
        self._find_entry_points = find_entry_points
        self._loaded: dict[str, CataloguePackage] = {}
        self._problems: dict[str, str] = {}

    @cached_property
    def _entries(self) -> dict[str, list[EntryPoint]]:
        """Entry points by name; several under one name only where they lead to different values."""
        found: dict[str, dict[str, EntryPoint]] = {}
        for entry in self._find_entry_points():
            found.setdefault(entry.name, {})[entry.value] = entry
        return {name: list(found[name].values()) for name in sorted(found)}

    @property
    def names(self) -> list[str]:
        """The names of the installed packages, sorted; nothing is loaded."""
        return list(self._entries)

    def get(self, name: str) -> CataloguePackage:
        """Load a package, once; refuse an unknown name, a name that two have, and a package that
        fails to load.
        """
        if name not in self._entries:
            known, hint = ", ".join(self.names) or "none", did_you_mean(name, self.names)
            raise NotFoundError(f"no catalogue package '{name}'{hint}; installed packages: {known}")
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def find_origin(self, name: str) -> str:
        """Return the distribution that brings a package, with its version; empty where it is not
        known.
        """
        found = self._entries[name][0].dist
        return f"{found.name} {found.version}" if found else ""

    def iter_packages(self) -> Iterator[CataloguePackage]:
        """Yield every package that loads; log the others and go on."""
        for name in self.names:
            try:
                yield self.get(name)
            except ExpectedError as error:
                logger.warning("%s", error.message)

    def iter_samples(self) -> Iterator[tuple[CataloguePackage, Sample]]:
        """Yield the samples of all packages."""
        for package in self.iter_packages():
            for sample in package.samples:
                yield package, sample

    def find_provider(self, prefix: str) -> Provider | None:
        """Return the provider of locations that begin with a prefix and a colon."""
        if not prefix.isalnum():
            return None  # a path, for which no package need be loaded
        return next(
            (one.providers[prefix] for one in self.iter_packages() if prefix in one.providers), None
        )

    def find_folder_reader(self) -> CataloguePackage | None:
        """Return the package that takes a folder given without --as."""
        return next((package for package in self.iter_packages() if package.reads_folders), None)

    def _load(self, name: str) -> CataloguePackage:
        entries = self._entries[name]
        if len(entries) > 1:
            offered = " and ".join(f"{_distribution(entry)} ({entry.value})" for entry in entries)
            raise StorageError(
                f"two packages offer the catalogue '{name}': {offered}; uninstall one of them"
            )
        (entry,) = entries
        origin = f"catalogue package '{name}' ({entry.value} of {_distribution(entry)})"
        if name in self._problems:
            raise StorageError(self._problems[name])
        try:
            package = entry.load()
            if not isinstance(package, CataloguePackage):
                raise TypeError(
                    f"a stackroom.api.CataloguePackage is expected, not {type(package).__name__}"
                )
            if package.name != name:
                told = "the entry point must have the same name"
                raise ValueError(f"its catalogue.toml is called '{package.name}'; {told}")
        # foreign code: whatever it raises, the other packages must go on
        except Exception as error:
            self._problems[name] = f"{origin} cannot be loaded: {type(error).__name__}: {error}"
            raise StorageError(self._problems[name]) from error
        return package


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown distribution"


PACKAGES = PackageRegistry()
"""The packages installed in this Python environment."""
