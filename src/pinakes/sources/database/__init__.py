"""Tables of databases: how they are joined (`joins`), and how those of a server are read (`address`, `server`, `rows`).

`joins` is shared with SQLite files. The rest is imported when the address of a server is named, and nowhere else: it
needs SQLAlchemy, and a driver that is an extra.
"""
