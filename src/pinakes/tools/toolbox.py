"""What a caller has before them: the tools and resources over the catalogues that they may see."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pinakes.model.scope import WHOLE, Scope, Visibility
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.media import MediaSpec
from pinakes.tools.resource import ResourceSpec
from pinakes.tools.spec import ToolSpec

KEPT_TOOLBOXES = 64
NO_AUDIENCE = Scope(visibility=Visibility(frozenset()))
"""What somebody sees who is of no audience."""

Versions = tuple[tuple[str, int, str | None], ...]
"""Of each catalogue its name, the number of its last change, and why it is stale, if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTools:
    """Tools and resources that run the server itself, beside those of the catalogues."""

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
    ) -> None:
        self.tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self.resources = sorted(resources, key=lambda resource: resource.prefix)
        self.catalogues = tuple(catalogues)
        self.media = tuple(media)
        self._looked_at: tuple[Versions, bool] | None = None
        if len(self.tools) != len(tools):
            raise ValueError("two tools have the same name")

    def of(self, _visibility: Visibility) -> "Toolbox":
        """Return this one, for everybody alike."""
        return self

    def versions(self) -> Versions:
        """Return how far each catalogue has changed: two answers between which this is the same saw the same data."""
        readers = [(catalogue.name, catalogue.shelf.reader()) for catalogue in self.catalogues]
        return tuple((name, reader.change_no, reader.stale) for name, reader in readers)

    def find_versions(self) -> Versions | None:
        """Return the same, where that is known at once, and also whose records matter at these versions."""
        readers = [(catalogue.name, catalogue.shelf.find_reader()) for catalogue in self.catalogues]
        found = tuple((name, reader.change_no, reader.stale) for name, reader in readers if reader is not None)
        is_known = len(found) == len(readers) and self._looked_at is not None and self._looked_at[0] == found
        return found if is_known else None

    def audiences_that_matter(self, visibility: Visibility, versions: Versions) -> frozenset[str] | None:
        """Return a caller's audiences; None where every record at these versions is for everybody."""
        looked_at = self._looked_at
        if looked_at is None or looked_at[0] != versions:
            looked_at = self._looked_at = (versions, self._is_all_public())
        return None if looked_at[1] else visibility.audiences

    def _is_all_public(self) -> bool:
        readers = [catalogue.shelf.reader() for catalogue in self.catalogues]
        return all(reader.count(NO_AUDIENCE) == reader.count(WHOLE) for reader in readers)


class Toolboxes(Protocol):
    """The toolbox of each caller."""

    def of(self, visibility: Visibility) -> Toolbox:
        """Return what somebody with this sight has before them."""


class ToolboxesByVisibility:
    """Implements `Toolboxes`: one for each set of catalogues that somebody sees, made at first use.

    A catalogue that is hidden from a caller is not in their toolbox at all. So nothing over it, neither a ranking nor a
    count, a list of values or a schema, can tell them of it.
    """

    def __init__(self, names: Sequence[str], make: Callable[[tuple[str, ...]], Toolbox]) -> None:
        self._names = tuple(names)
        self._make = make
        self._kept: OrderedDict[tuple[str, ...], Toolbox] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, visibility: Visibility) -> Toolbox:
        """Return the toolbox over the catalogues of this sight."""
        visible = tuple(name for name in self._names if visibility.sees_catalogue(name))
        with self._guard:
            if visible not in self._kept:
                self._kept[visible] = self._make(visible)
            self._kept.move_to_end(visible)
            while len(self._kept) > KEPT_TOOLBOXES:
                self._kept.popitem(last=False)
            return self._kept[visible]
