"""Stackroom: catalogue servers for AI assistants.

`stackroom.open()` opens a library to use it from Python. What it needs is loaded at the first use:
importing the package has no side effects.
"""

from pkgutil import resolve_name
from typing import Any

__version__ = "0.2.0"

LAYOUTS = {"records": 2, "accounts": 10}
"""The numbers of the layouts that this version writes, in each catalogue and in the control
database.
"""

_PUBLIC = {
    "Catalogue": "stackroom.python.catalogue:Catalogue",
    "Change": "stackroom.python.catalogue:Change",
    "ExpectedError": "stackroom.errors:ExpectedError",
    "Explanation": "stackroom.python.catalogue:Explanation",
    "InputError": "stackroom.errors:InputError",
    "Library": "stackroom.python.library:Library",
    "NotFoundError": "stackroom.errors:NotFoundError",
    "Record": "stackroom.python.catalogue:Record",
    "Results": "stackroom.python.catalogue:Results",
    "Table": "stackroom.python.catalogue:Table",
    "open": "stackroom.python.library:open_library",
}


def __getattr__(name: str) -> Any:
    """Return a name of the Python API."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stackroom' has no attribute '{name}'")
    return resolve_name(_PUBLIC[name])


def __dir__() -> list[str]:
    """Return the public names."""
    return [*_PUBLIC, "__version__"]
