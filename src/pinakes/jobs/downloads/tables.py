"""The tables of the queue, in the control database, as they are now.

`m0004_downloads` made them, `m0007_download_details` added to them.

`open_key` says who asked for what, while it is open, and is unique: the same is not asked for twice. `key` names the
folder in which the files gather, `folder` where they land, below the music folder. `claim_token` is that of the worker
that has the download until `claimed_until`.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, Text

from pinakes.control.database.time_columns import Moment

METADATA = MetaData()

downloads = Table(
    "downloads",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("open_key", Text, unique=True),
    Column("user_name", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("artist", Text),
    Column("album", Text),
    Column("url", Text),
    Column("folder", Text),
    Column("priority", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("next_attempt_at", Moment, nullable=False),
    Column("claim_token", Text),
    Column("claimed_until", Moment),
    Column("is_installing", Boolean, nullable=False),
    Column("received_bytes", BigInteger, nullable=False),
    Column("total_bytes", BigInteger),
    Column("error_code", Text),
    Column("error", Text),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("call_id", Text),
    Column("found_artist", Text),
    Column("found_album", Text),
    Index("downloads_by_state", "state", "priority", "id"),
    Index("downloads_by_user", "user_name", "created_at"),
    sqlite_autoincrement=True,
)

download_files = Table(
    "download_files",
    METADATA,
    Column("download_id", Integer, ForeignKey("downloads.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("size", BigInteger),
    Column("sha256", Text),
    Column("is_fetched", Boolean, nullable=False),
)
