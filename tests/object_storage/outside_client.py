"""A client of somebody else: it reads and searches a published table with `lancedb`, and nothing of
ours.
"""

import json
import sys

import lancedb

place, name = sys.argv[1:]
table = lancedb.connect(place).open_table(name)
rows = table.to_arrow().to_pylist()
embedded = [row for row in rows if row["vector"] is not None]
first = embedded[0]
assert all(
    isinstance(row["text"], str) and isinstance(json.loads(row["metadata"]), dict) for row in rows
)
assert {"path", "heading", "first_line", "last_line"} <= set(table.schema.names)
nearest = table.search(first["vector"]).limit(10).to_list()
assert nearest[0]["_distance"] < 1e-6
assert not any(module.partition(".")[0].startswith("stackroom") for module in sys.modules)
print(
    f"{len(rows)} rows read, {len(embedded)} with vectors of {len(first['vector'])}; {len(nearest)}"
    " nearest found"
)
