"""Modules that are read when a test first uses them: each process of a run collects all tests; some
take seconds.
"""

import importlib
import importlib.util
from typing import Any

import pytest


class LateModule:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        # pytest looks for such names in whatever a module of tests has
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def require_lance() -> None:
    """Skip the tests of a module where LanceDB is not installed."""
    if importlib.util.find_spec("lancedb") is None:
        pytest.skip("LanceDB is not installed: pip install lancedb", allow_module_level=True)
