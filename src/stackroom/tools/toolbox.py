"""The toolbox of a caller: tools and resources over the catalogues that they may see.

Clients that allow only letters, digits, `_` and `-` in names know `catalog.mutate` as `catalog_mutate`.
"""

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from stackroom.model.principal import Cost, Principal
from stackroom.model.scope import SEES_PUBLIC, WHOLE, Scope, Visibility
from stackroom.shelf.port import ShelfReader
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.media import MediaSpec
from stackroom.tools.resources.resource import ResourceSpec
from stackroom.tools.spec import ToolSpec

PLAIN = re.compile(r"[A-Za-z0-9_-]+")
OTHER = re.compile(r"[^A-Za-z0-9_-]")


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return the plain name of each tool. No two are the same, and a tool's own name is never given to another."""
    ordered = sorted(names)
    found = {name: name for name in ordered if PLAIN.fullmatch(name)}
    taken = set(found)
    for name in ordered:
        if name not in found:
            found[name] = _free(OTHER.sub("_", name), taken)
            taken.add(found[name])
    return found


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def with_plain_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which every tool is named by its plain name."""
    for name in sorted(names, key=len, reverse=True):
        if name != names[name]:
            text = text.replace(name, names[name])
    return text


KEPT_TOOLBOXES = 64
NO_AUDIENCE = Scope(visibility=SEES_PUBLIC)
"""The scope of a caller without audiences: public records only."""


class CatalogueVersion(NamedTuple):
    """A state of a catalogue's data: answers read from equal versions saw the same records."""

    name: str
    change_no: int
    vector_no: int
    stale: str | None
    is_public: bool
    """Whether every record is visible to every caller."""


Versions = tuple[CatalogueVersion, ...]


class VersionedCatalogue:
    """A catalogue with its last known version, since `is_public` takes a count."""

    def __init__(self, catalogue: OpenCatalogue) -> None:
        self._catalogue = catalogue
        self._last: CatalogueVersion | None = None

    def version(self) -> CatalogueVersion:
        """Return the current version; raise StorageError where the store cannot be read."""
        reader = self._catalogue.shelf.reader()
        found = self._known(reader)
        if found is None:
            is_public = reader.count(NO_AUDIENCE) == reader.count(WHOLE)
            found = CatalogueVersion(self._catalogue.name, reader.change_no, reader.vector_no, reader.stale, is_public)
            self._last = found
        return found

    def find_version(self) -> CatalogueVersion | None:
        """Return the current version where it is known without blocking."""
        reader = self._catalogue.shelf.find_reader()
        return None if reader is None else self._known(reader)

    def _known(self, reader: ShelfReader) -> CatalogueVersion | None:
        last = self._last
        now = reader.change_no, reader.vector_no, reader.stale
        return last if last is not None and (last.change_no, last.vector_no, last.stale) == now else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTools:
    """Tools and resources of the server itself, in every toolbox."""

    tools: Sequence[ToolSpec] = ()
    resources: Sequence[ResourceSpec] = ()


NO_SERVER_TOOLS = ServerTools()


class Toolbox:
    """Tools by name, resources, and the catalogues that they read."""

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        resources: Sequence[ResourceSpec] = (),
        *,
        catalogues: Sequence[OpenCatalogue] = (),
        media: Sequence[MediaSpec] = (),
        behind: "Toolbox | None" = None,
    ) -> None:
        """`behind` has the same over more catalogues, which are absent at present: in no list, but answered about."""
        self._behind = behind
        self.tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self.plain_names = plain_names(self.tools)
        self.changing_tools = frozenset(tool.name for tool in tools if tool.cost is not Cost.READ)
        self._by_plain_name = {plain: name for name, plain in self.plain_names.items()}
        self.resources = sorted(resources, key=lambda resource: resource.prefix)
        self.catalogues = tuple(catalogues)
        self.media = tuple(media)
        self.unserved: tuple[str, ...] = ()  # catalogues that are unfinished or damaged
        self._versioned = {catalogue.name: VersionedCatalogue(catalogue) for catalogue in catalogues}
        if len(self.tools) != len(tools):
            names = Counter(tool.name for tool in tools)
            raise ValueError(f"two tools have the same name: {', '.join(name for name in names if names[name] > 1)}")

    def list_callable(self, principal: Principal) -> list[ToolSpec]:
        """Return the tools that a principal may call, sorted by name, but for those that are in no list."""
        return [tool for tool in self.tools.values() if tool.is_listed and tool.action in principal.actions]

    @property
    def known_resources(self) -> list[ResourceSpec]:
        """The resources, with those of absent catalogues."""
        return self._behind.resources if self._behind else self.resources

    def find_tool(self, name: str) -> ToolSpec | None:
        """Return a tool by its name, or by its plain name; also one of a catalogue that is absent."""
        if self._behind is not None:
            return self._behind.find_tool(name)
        return self.tools.get(name) or self.tools.get(self._by_plain_name.get(name, ""))

    def of(self, _visibility: Visibility) -> "Toolbox":
        """Return this toolbox, the same for every caller."""
        return self

    def refresh(self) -> bool:
        """Do nothing: the toolbox is always the same."""
        return False

    def versions(self, names: Iterable[str] | None) -> Versions:
        """Return the version of each of these catalogues, or of all; raise StorageError where one cannot be read."""
        return tuple(one.version() for one in self._watched(names))

    def find_versions(self, names: Iterable[str] | None) -> Versions | None:
        """Return the same where all are known without blocking."""
        found = tuple(one.find_version() for one in self._watched(names))
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else None

    def _watched(self, names: Iterable[str] | None) -> list[VersionedCatalogue]:
        if self._behind is not None:
            return self._behind._watched(names)
        wanted = self._versioned if names is None else set(names)
        return [one for name, one in self._versioned.items() if name in wanted]


class Toolboxes(Protocol):
    """The toolbox of each caller."""

    def of(self, visibility: Visibility) -> Toolbox:
        """Return the toolbox of a caller with this visibility."""

    def refresh(self) -> bool:
        """Follow catalogues that were added, replaced or removed; tell whether toolboxes are other ones now."""


class ToolboxesByVisibility:
    """Implements `Toolboxes`: one for each set of visible catalogues, built at first use.

    A catalogue that is hidden from a caller is not in their toolbox at all. So nothing over it, neither a ranking nor a
    count, a list of values or a schema, can tell them of it.
    """

    def __init__(
        self,
        names: Sequence[str],
        make: Callable[[tuple[str, ...]], Toolbox],
        *,
        find_names: Callable[[], Sequence[str] | None] = lambda: None,
    ) -> None:
        """`find_names` returns the catalogues where these, or what they are, changed since it was last called."""
        self._names = tuple(names)
        self._make = make
        self._find_names = find_names
        self._kept: OrderedDict[tuple[str, ...], Toolbox] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, visibility: Visibility) -> Toolbox:
        """Return the toolbox over the catalogues of this visibility."""
        visible = tuple(name for name in self._names if visibility.sees_catalogue(name))
        with self._guard:
            if visible not in self._kept:
                self._kept[visible] = self._make(visible)
            self._kept.move_to_end(visible)
            while len(self._kept) > KEPT_TOOLBOXES:
                self._kept.popitem(last=False)
            return self._kept[visible]

    def refresh(self) -> bool:
        """Follow catalogues that were added, replaced or removed; tell whether toolboxes are other ones now."""
        names = self._find_names()
        if names is None:
            return False
        with self._guard:
            self._names = tuple(names)
            self._kept.clear()
        return True
