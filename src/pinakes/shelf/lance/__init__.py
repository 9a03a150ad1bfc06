"""The LanceDB shelf: records in versioned LanceDB tables, answered from arrays that each process keeps in memory.

`tables` opens the tables and knows which versions of them are current; `layout` says what their columns are; `plan`
turns changes into rows, `segment` and `postings` turn rows into arrays, `view` answers from them, `shelf` ties it all
together. LanceDB is an extra: this package is imported where a catalogue is on such a shelf, and nowhere else.
"""

import importlib.util

from pinakes.errors import StorageError

if importlib.util.find_spec("lancedb") is None:
    raise StorageError("the lance shelf needs LanceDB, which is not installed; run: pip install 'pinakes[lance]'")
