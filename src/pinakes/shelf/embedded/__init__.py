"""The embedded shelf: records in SQLite (the truth), text in tantivy, columns and vectors in memory-mapped segments.

`store` is the truth; `text_index` and `segment` are derived from it and can be deleted at any time. `shelf` ties them
together: it catches the indexes up with the store, under the library's lock, and hands out views (`view`).
"""
