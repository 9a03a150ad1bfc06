"""Building a toolbox: the tools, resources and media of packages over their catalogues, and the generic ones."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from stackroom.errors import StorageError
from stackroom.generic.tools import generic_tools
from stackroom.packages import CataloguePackage, PackageRegistry
from stackroom.shelf.port import Problem
from stackroom.shelf.watched import WatchedShelf
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits import edit_tools
from stackroom.tools.media import MediaSpec, picture_media
from stackroom.tools.own_storage import OwnKinds
from stackroom.tools.resources.changelog import edit_resources
from stackroom.tools.resources.resource import ResourceSpec, generic_resources
from stackroom.tools.spec import ToolSpec
from stackroom.tools.toolbox import ServerTools, Toolbox

logger = logging.getLogger(__name__)


class ToolChoice(StrEnum):
    """Which tools are served: a catalogue's own, the generic ones, both, or what the catalogues call for."""

    AUTO = "auto"
    OWN = "own"
    GENERIC = "generic"
    ALL = "all"


class Served(NamedTuple):
    """A catalogue that is open, its shelf, and the package that it follows; None where it has a spec of its own."""

    opened: OpenCatalogue
    shelf: WatchedShelf
    package: str | None


class _PackageParts(NamedTuple):
    """Tools, resources, media and the kinds of users of one package, over its open catalogues."""

    package: CataloguePackage
    tools: Sequence[ToolSpec]
    resources: Sequence[ResourceSpec]
    media: Sequence[MediaSpec]
    own_kinds: Sequence[OwnKinds]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolboxBuilder:
    """Builds the toolboxes of one server."""

    packages: PackageRegistry
    choice: ToolChoice
    server_tools: ServerTools
    note_problems: Callable[[str, Sequence[Problem]], None]
    """Notes what is wrong with a catalogue."""

    def build(
        self, listed: Sequence[Served], absent: Sequence[Served] = (), *, unserved: Sequence[str] = ()
    ) -> Toolbox:
        """Return the tools and resources over these catalogues, and the server tools.

        Absent catalogues are in no list, but calls about them are answered: with a storage error that names them.
        Those that are not served, since they are unfinished or damaged, are named alone.
        """
        behind = self._build([*listed, *absent]) if absent else None
        toolbox = self._build(listed, behind=behind)
        toolbox.unserved = tuple(unserved)
        return toolbox

    def _build(self, served: Sequence[Served], *, behind: Toolbox | None = None) -> Toolbox:
        server_tools, opened = self.server_tools, [one.opened for one in served]
        if not opened:
            return Toolbox(server_tools.tools, server_tools.resources, behind=behind)
        by_package: dict[str, list[OpenCatalogue]] = {}
        for one in served:
            if one.package in self.packages.names:  # a catalogue that was just removed may seem to have no spec
                by_package.setdefault(one.package, []).append(one.opened)
        parts = [part for name, some in by_package.items() for part in self._find_parts(self.packages.get(name), some)]
        own = [tool for part in parts for tool in part.tools]
        resources = [resource for part in parts for resource in part.resources]
        is_covered = len(opened) == 1 and any(part.package.replaces_generic_tools for part in parts)
        choice = self.choice
        with_generic = choice in (ToolChoice.GENERIC, ToolChoice.ALL) or (choice is ToolChoice.AUTO and not is_covered)
        shown = [] if choice is ToolChoice.GENERIC else own
        media = [*picture_media(opened), *(media for part in parts for media in part.media)]
        generic = generic_tools(opened, media=media, own=own, is_listed=with_generic)
        tools = [*shown, *generic, *edit_tools(opened, [kinds for part in parts for kinds in part.own_kinds])]
        if len(opened) > 1:
            tools = [replace(tool, is_brief=True) for tool in tools]
        return Toolbox(
            [*tools, *server_tools.tools],
            [*resources, *generic_resources(opened), *edit_resources(opened), *server_tools.resources],
            catalogues=opened,
            media=media,
            behind=behind,
        )

    def _find_parts(self, package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> list[_PackageParts]:
        """Return the parts of a package; none where its code fails: its catalogues then have the generic tools."""
        try:
            return [_package_parts(package, catalogues)]
        except StorageError as error:
            logger.warning("the tools of '%s' are without a catalogue that cannot be read: %s", package.name, error)
            readable = [one for one in catalogues if is_readable(one)]
            return [_package_parts(package, readable)] if readable else []
        except Exception as error:  # foreign code: whatever it raises, the other packages must go on
            logger.exception("catalogue package '%s' failed; its own tools are not served", package.name)
            message = f"the tools of the package '{package.name}' failed: {type(error).__name__}: {error}"
            problem = Problem(part="package", message=message, advice="update or uninstall the package")
            for catalogue in catalogues:
                self.note_problems(catalogue.name, [problem])
            return []


def is_open(catalogue: OpenCatalogue) -> bool:
    """Tell whether a catalogue is open, so that reading it costs little."""
    return not isinstance(catalogue.shelf, WatchedShelf) or catalogue.shelf.is_open


@contextmanager
def as_little_open(catalogue: OpenCatalogue) -> Iterator[None]:
    """Close a catalogue after the block, unless it had been read: the next read opens it, and hundreds take memory."""
    is_read = catalogue.shelf.find_reader() is not None
    yield
    if not is_read:
        catalogue.shelf.close()


def is_readable(catalogue: OpenCatalogue) -> bool:
    """Tell whether a catalogue can be read now, without waiting long for whoever writes it."""
    try:
        catalogue.shelf.reader()
    except StorageError:
        return False
    return True


def _package_parts(package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> _PackageParts:
    names = [catalogue.name for catalogue in catalogues]
    tools = [tool.over(names) for tool in package.tools(catalogues)]
    resources, media = package.resources(catalogues), package.media(catalogues)
    return _PackageParts(package, tools, resources, media, package.own_kinds(catalogues))
