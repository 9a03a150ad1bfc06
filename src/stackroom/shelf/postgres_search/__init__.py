"""Search inside PostgreSQL, for catalogues whose index no server can hold: see `view`, and
`model.hits.Promises`.
"""
