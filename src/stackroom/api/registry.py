"""The installed catalogue packages, found by their entry points; names are listed without loading a package."""

import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from stackroom.api.package import CataloguePackage, Sample
from stackroom.errors import ExpectedError, NotFoundError, StorageError, did_you_mean
from stackroom.sources.port import Provider

logger = logging.getLogger(__name__)

GROUP = "stackroom.catalogues"

EntryPoints = Iterable[importlib.metadata.EntryPoint]


def _installed_entry_points() -> EntryPoints:
    return importlib.metadata.entry_points(group=GROUP)


class PackageRegistry:
    """Finds packages by name. One that cannot be loaded is reported and skipped; the others stay usable."""

    def __init__(self, find_entry_points: Callable[[], EntryPoints] = _installed_entry_points) -> None:
        self._find_entry_points = find_entry_points
        self._loaded: dict[str, CataloguePackage] = {}
        self._problems: dict[str, str] = {}

    @cached_property
    def _entries(self) -> dict[str, list[importlib.metadata.EntryPoint]]:
        """Entry points by name; several under one name only where they lead to different values."""
        found: dict[str, dict[str, importlib.metadata.EntryPoint]] = {}
        for entry in self._find_entry_points():
            found.setdefault(entry.name, {})[entry.value] = entry
        return {name: list(found[name].values()) for name in sorted(found)}

    @property
    def names(self) -> list[str]:
        """The names of the installed packages, sorted; nothing is loaded."""
        return list(self._entries)

    def get(self, name: str) -> CataloguePackage:
        """Load a package, once; refuse an unknown name, a name that two have, and a package that fails to load."""
        if name not in self._entries:
            known = ", ".join(self.names) or "none"
            raise NotFoundError(
                f"no catalogue package '{name}'{did_you_mean(name, self.names)}; installed packages: {known}"
            )
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

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
        return next((one.providers[prefix] for one in self.iter_packages() if prefix in one.providers), None)

    def find_folder_reader(self) -> CataloguePackage | None:
        """Return the package that takes a folder given without --as."""
        return next((package for package in self.iter_packages() if package.reads_folders), None)

    def _load(self, name: str) -> CataloguePackage:
        entries = self._entries[name]
        if len(entries) > 1:
            offered = " and ".join(f"{_distribution(entry)} ({entry.value})" for entry in entries)
            raise StorageError(f"two packages offer the catalogue '{name}': {offered}; uninstall one of them")
        (entry,) = entries
        origin = f"catalogue package '{name}' ({entry.value} of {_distribution(entry)})"
        if name in self._problems:
            raise StorageError(self._problems[name])
        try:
            package = entry.load()
            _require_package(package, name)
        except Exception as error:  # foreign code: whatever it raises, the other packages must go on
            self._problems[name] = f"{origin} cannot be loaded: {type(error).__name__}: {error}"
            raise StorageError(self._problems[name]) from error
        loaded: CataloguePackage = package
        return loaded


def _require_package(package: object, name: str) -> None:
    if not isinstance(package, CataloguePackage):
        raise TypeError(f"a stackroom.api.CataloguePackage is expected, not {type(package).__name__}")
    if package.name != name:
        raise ValueError(f"its catalogue.toml is called '{package.name}'; the entry point must have the same name")


def _distribution(entry: importlib.metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown distribution"


PACKAGES = PackageRegistry()
"""The packages installed in this Python environment."""
