"""The toolbox of a caller: tools and resources over the catalogues that they may see."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import NamedTuple

from stackroom.background.threads import new_pool
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.model.principal import Cost, Principal
from stackroom.model.scope import SEES_PUBLIC, WHOLE, Scope, Visibility
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.faces.mcp import DeclaredTool, Served, serve
from stackroom.tools.media import CallerMedia, MediaSpec
from stackroom.tools.operation import AnyOperation
from stackroom.tools.resources import ResourceSpec

PLAIN = re.compile(r"[A-Za-z0-9_-]+")
OTHER = re.compile(r"[^A-Za-z0-9_-]")


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return the plain name of each tool. No two are the same, and a tool's own name is never given
    to another.
    """
    ordered = sorted(names)
    found = {name: name for name in ordered if PLAIN.fullmatch(name)}
    for name in ordered:
        if name not in found:
            plain = OTHER.sub("_", name)
            while plain in found.values():
                plain += "_"
            found[name] = plain
    return found


def with_plain_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which every tool is named by its plain name."""
    for name in sorted(names, key=len, reverse=True):
        if name != names[name]:
            text = text.replace(name, names[name])
    return text


KEPT_TOOLBOXES = 64
# the scope of a caller without audiences: public records only
NO_AUDIENCE = Scope(visibility=SEES_PUBLIC)


class CatalogueVersion(NamedTuple):
    """A state of a catalogue's data: answers read from equal versions saw the same records."""

    name: str
    change_no: int
    vector_no: int
    stale: str | None
    is_public: bool  # whether every record is visible to every caller


Versions = tuple[CatalogueVersion, ...]


class VersionedCatalogue:
    """A catalogue with its last known version, since `is_public` takes a count."""

    def __init__(self, catalogue: OpenCatalogue) -> None:
        self._catalogue = catalogue
        self._last: CatalogueVersion | None = None

    def find_version(self, *, may_wait: bool) -> CatalogueVersion | None:
        """Return the current version; None where it is not known without waiting. Raise
        StorageError where the store cannot be read.
        """
        shelf, last = self._catalogue.shelf, self._last
        reader = shelf.reader() if may_wait else shelf.find_reader()
        if reader is None:
            return None
        state = reader.change_no, reader.vector_no, reader.stale
        if last and last[1:4] == state:
            return last
        if may_wait:
            is_public = reader.count(NO_AUDIENCE) == reader.count(WHOLE)
            self._last = CatalogueVersion(self._catalogue.name, *state, is_public)
        return self._last if may_wait else None


@frozen
class ServerTools:
    """Tools and resources of the server itself, in every toolbox."""

    tools: Sequence[DeclaredTool] = ()
    resources: Sequence[ResourceSpec] = ()


NO_SERVER_TOOLS = ServerTools()


class Toolbox:
    """Tools by name, resources, and the catalogues that they read."""

    def __init__(
        self,
        tools: Sequence[DeclaredTool],
        resources: Sequence[ResourceSpec] = (),
        *,
        catalogues: Sequence[OpenCatalogue] = (),
        media: Sequence[MediaSpec] = (),
        behind: "Toolbox | None" = None,
    ) -> None:
        """`behind` has the same over more catalogues, which are absent at present: in no list, but
        answered about.
        """
        self._behind = behind
        self.declared = served = serve(tools, catalogues)
        self.tools = {tool.name: tool for tool in sorted(served, key=attrgetter("name"))}
        self.plain_names = plain_names(self.tools)
        self.changing_tools = frozenset(
            tool.name for tool in served if tool.operation.cost is not Cost.READ
        )
        self._by_plain_name = {plain: name for name, plain in self.plain_names.items()}
        self.resources = sorted(resources, key=attrgetter("prefix"))
        self.catalogues = tuple(catalogues)
        self.media = tuple(media)
        self.unserved: tuple[str, ...] = ()  # catalogues that are unfinished or damaged
        self._versioned = {
            catalogue.name: VersionedCatalogue(catalogue) for catalogue in catalogues
        }
        if twice := [
            name for name, count in Counter(tool.name for tool in tools).items() if count > 1
        ]:
            raise ValueError(f"two tools have the same name: {', '.join(twice)}")

    def serve(self, operation: AnyOperation) -> Served:
        """Return an operation over the catalogues of this toolbox, whether it is a tool or not."""
        over = operation.over
        some = [one for one in self.catalogues if over is None or over(one.spec)]
        return Served(operation=operation, catalogues=some, has_choice=over is not None)

    def list_callable(self, principal: Principal) -> list[Served]:
        """Return the tools that a principal may call, sorted by name, but for those that are in no
        list.
        """
        return [
            tool
            for tool in self.tools.values()
            if tool.is_listed and tool.operation.needs.allow(principal)
        ]

    @property
    def known_resources(self) -> list[ResourceSpec]:
        """The resources, with those of absent catalogues."""
        return self._behind.resources if self._behind else self.resources

    @cached_property
    def pool(self) -> Executor:
        """The threads in which a call asks several catalogues at once."""
        return new_pool("catalogue", max(1, min(4, len(self.catalogues))))

    def media_of(self, principal: Principal) -> CallerMedia:
        """Return the files of records that a caller may see."""
        return CallerMedia(principal, self.media)

    def find_callable(self, principal: Principal, name: str) -> Served | None:
        """Return a tool that a principal may call by its name, or by its plain name; also one of a
        catalogue that is absent.
        """
        if self._behind is not None:
            return self._behind.find_callable(principal, name)
        tool = self.tools.get(name) or self.tools.get(self._by_plain_name.get(name, ""))
        return tool if tool and tool.operation.needs.allow(principal) else None

    def of(self, _visibility: Visibility) -> "Toolbox":
        """Return this toolbox, the same for every caller."""
        return self

    def refresh(self) -> bool:
        """Do nothing: the toolbox is always the same."""
        return False

    def find_versions(
        self, names: Iterable[str] | None, *, may_wait: bool = False
    ) -> Versions | None:
        """Return the version of each of these catalogues, or of all; None where one cannot be read,
        or not without waiting.
        """
        if self._behind is not None:
            return self._behind.find_versions(names, may_wait=may_wait)
        wanted, found = self._versioned if names is None else set(names), []
        for name, one in self._versioned.items():
            if name in wanted:
                try:
                    version = one.find_version(may_wait=may_wait)
                except StorageError:
                    return None
                if version is None:
                    return None
                found.append(version)
        return tuple(found)


class ToolboxesByVisibility:
    """The toolbox of each caller: one for each set of visible catalogues, built at first use.

    A catalogue that is hidden from a caller is not in their toolbox at all. So nothing over it,
    neither a ranking nor a count, a list of values or a schema, can tell them of it.
    """

    def __init__(
        self,
        names: Sequence[str],
        make: Callable[[tuple[str, ...]], Toolbox],
        *,
        find_names: Callable[[], Sequence[str] | None] = lambda: None,
    ) -> None:
        """`find_names` returns the catalogues where these, or what they are, changed since it was
        last called.
        """
        self._names = tuple(names)
        self._make = lru_cache(maxsize=KEPT_TOOLBOXES)(make)
        self._find = lru_cache(maxsize=KEPT_TOOLBOXES)(
            lambda visibility: self._make(tuple(filter(visibility.sees_catalogue, self._names)))
        )
        self._find_names = find_names
        self._guard = threading.Lock()

    def of(self, visibility: Visibility) -> Toolbox:
        """Return the toolbox over the catalogues of this visibility."""
        with self._guard:
            return self._find(visibility)

    def refresh(self) -> bool:
        """Follow catalogues that were added, replaced or removed; tell whether toolboxes are other
        ones now.
        """
        names = self._find_names()
        if names is None:
            return False
        with self._guard:
            self._names = tuple(names)
            self._make.cache_clear()
            self._find.cache_clear()
        return True


# the toolbox of each caller, or one that is the same for every caller
Toolboxes = Toolbox | ToolboxesByVisibility
