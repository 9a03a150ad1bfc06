"""A quicker import of the MCP SDK, for a server that an assistant starts and waits for
(`docs/decisions`).

Importing `mcp` runs its client and its high-level server, which are not used here, and builds the
validators of every message of every revision. Here both wait until something asks for them.
Whatever does not fit another release of the SDK is left out, and importing is then as slow as it is
anyway.
"""

import importlib
import importlib.util
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

WIRE_MODELS = "mcp_types._wire_base"
"""The module with the base class of the models of messages, one model for each message of a
revision.
"""
PACKAGES = ("mcp", "mcp.server")  # packages whose own code imports what is not used here


def prepare_import() -> None:
    """Make the imports that follow quicker; do nothing where the SDK has been imported already."""
    if "mcp" in sys.modules:
        return
    with suppress(ImportError, AttributeError):
        importlib.import_module(WIRE_MODELS).WireModel.model_config["defer_build"] = True
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None:
            package = importlib.util.module_from_spec(spec)
            package.__class__ = _PackageOnDemand
            sys.modules[name] = package
            parent, _, short = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], short, package)
    importlib.import_module("mcp.types")  # as `from mcp import types` would ask the package for it


class _PackageOnDemand(ModuleType):
    """A package whose own code runs when it is asked for a name; modules in it are imported without
    that.
    """

    def __getattr__(self, name: str) -> Any:
        """Run the package's code, and return what it defines."""
        spec = self.__spec__
        if name.startswith("__") or spec is None or spec.loader is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        self.__class__ = ModuleType  # type: ignore[assignment]
        spec.loader.exec_module(self)
        return getattr(self, name)
