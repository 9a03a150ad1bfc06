"""LanceDB: tables in a folder or a bucket that catalogues are published to and synced from.

`layout` opens databases and writes a table, `rows` reads it and tables of others. LanceDB is an
extra: this package is imported when such a table is named, and nowhere else.
"""

import importlib.util

from stackroom.errors import StorageError

if importlib.util.find_spec("lancedb") is None:
    raise StorageError(
        "LanceDB tables need the extra 'lance', which is not installed; run: pip install lancedb"
    )
