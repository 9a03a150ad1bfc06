"""Tables of databases: `tables` describes them and `joins` joins them, for SQLite files and servers alike.

The tables of a server: `address` takes its URL apart, `passwords` finds its password, `server` connects, `schema`
describes, `query` refuses statements that are no selection, `rows` reads, `failures` says why not. All but `address` is
imported when a server is named, and nowhere else: it needs SQLAlchemy and a driver, which is an extra.
"""
