"""Of each download the call that asked for it, and what its provider calls the album."""

from sqlalchemy import Connection, text

COLUMNS = ("call_id", "found_artist", "found_album")


def upgrade(connection: Connection) -> None:
    """Add the columns; of what was asked for before, nothing of it is known."""
    for column in COLUMNS:
        connection.execute(text(f"ALTER TABLE downloads ADD COLUMN {column} TEXT"))
