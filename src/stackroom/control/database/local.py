"""The database of the local user: what belongs to users where there are no accounts.

It has the tables of a control database and one user, so that packages keep the same rows either way.
"""

from pathlib import Path

from sqlalchemy import select

from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import users
from stackroom.control.database.time_columns import utc_now
from stackroom.control.database.url import LOCAL_FILE
from stackroom.model.principal import LOCAL_USER


def open_local(home: Path) -> ControlDatabase:
    """Open the local user's database of a library, and create it if it is missing."""
    database = ControlDatabase.open(f"sqlite:///{home / LOCAL_FILE}")
    try:
        _create_user(database)
    except BaseException:
        database.close()
        raise
    return database


def _create_user(database: ControlDatabase) -> None:
    is_known = select(users.c.id).where(users.c.name == LOCAL_USER.name)
    with database.read() as connection:
        if connection.execute(is_known).first():
            return
    with database.begin() as connection:
        if not connection.execute(is_known).first():  # another process may have been quicker
            row = {"name": LOCAL_USER.name, "disabled": False, "external": False, "created_at": utc_now()}
            connection.execute(users.insert(), row)
