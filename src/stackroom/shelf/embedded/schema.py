"""The tables of a store, and their layout's version."""

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, digest BLOB, sum INTEGER);
CREATE TABLE embeddings (
    model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, sum INTEGER, PRIMARY KEY (model, digest));
CREATE TABLE changes (
    change_no INTEGER PRIMARY KEY AUTOINCREMENT, key INTEGER NOT NULL, id TEXT NOT NULL, op TEXT NOT NULL,
    before BLOB, principal TEXT NOT NULL, call_id TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT (datetime('now')), sum INTEGER);
CREATE INDEX changes_by_call ON changes (call_id) WHERE call_id <> '';
"""
TOUCH_EMBEDDED = """
INSERT INTO changes (key, id, op, before, principal, call_id, at, sum)
SELECT key, id, 'update', body, ?1, ?2, datetime('now'), row_sum(key, id, 'update', body, ?1, ?2, datetime('now'))
FROM records WHERE digest IN (SELECT digest FROM embeddings WHERE model = ?3)
"""
"""Logs a change of each record that has a vector of the model switched to, so that readers notice the switch."""
CHANGES_BY_ID = "CREATE INDEX IF NOT EXISTS changes_by_id ON changes (id)"
"""Created on first use, by an edit or a build of an editable catalogue."""
SCHEMA_VERSION = 2
