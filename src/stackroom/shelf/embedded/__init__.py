"""The embedded shelf: records in SQLite (the truth), text in tantivy, columns and vectors in memory-mapped segments.

`store` is the truth; `text_index` and `segment` are derived from it and can be deleted at any time. `shelf` updates the
indexes to the store under the catalogue's write lock and returns snapshots (`view`).
"""
