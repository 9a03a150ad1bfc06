"""The anime catalogue: rows of an anime-offline-database file into records, and the tools over them."""
