"""The embedded shelf: records in SQLite, which are the truth, and indexes derived from them: see
`shelf`.
"""
