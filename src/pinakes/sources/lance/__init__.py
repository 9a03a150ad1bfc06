"""LanceDB: tables in a folder or a bucket that catalogues are published to and synced from.

`database` opens databases and tables, `layout` says what a published table looks like, `publish` writes it, `rows`
reads it and tables of others, `legacy` reads catalogues that earlier versions kept in LanceDB. LanceDB is an extra:
this package is imported when such a table is named, and nowhere else.
"""

import importlib.util

from pinakes.errors import StorageError

if importlib.util.find_spec("lancedb") is None:
    raise StorageError("LanceDB is not installed, which its tables need; run: pip install 'pinakes[lance]'")
