"""The generic tools over every catalogue that is served."""

from collections.abc import Sequence

from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.resource import ResourceSpec
from pinakes.tools.spec import ToolSpec


def generic_tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the tools that serve every catalogue."""
    return []


def generic_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the records of every catalogue as resources."""
    return []
