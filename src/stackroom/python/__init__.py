"""The Python API: open a library, add to it, and ask it, as assistants do over MCP.

`stackroom.open` and the classes here are what `import stackroom` offers; everything else may change at any time.
"""

from stackroom.errors import ExpectedError, InputError, NotFoundError
from stackroom.python.catalogue import Catalogue
from stackroom.python.library import Library, open_library
from stackroom.python.results import Change, Explanation, Record, Results, Table

open = open_library

__all__ = [
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
]
