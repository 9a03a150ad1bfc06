"""Stackroom: catalogue servers for AI assistants.

`stackroom.open()` opens a library to use it from Python. What it needs is loaded at the first use: importing the
package has no side effects.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

LAYOUTS = {"records": 2, "accounts": 9}
"""The numbers of the layouts that this version writes, in each catalogue and in the control database."""

_PUBLIC = (
    "Catalogue",
    "Change",
    "ExpectedError",
    "Explanation",
    "InputError",
    "Library",
    "NotFoundError",
    "Record",
    "Results",
    "Table",
    "open",
)


def __getattr__(name: str) -> Any:
    """Return a name of the Python API."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stackroom' has no attribute '{name}'")
    return getattr(import_module("stackroom.python"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*_PUBLIC, "__version__"]
