"""The address of a database server: `postgresql://USER:PASSWORD@HOST/DATABASE`, `mysql://…` or `mariadb://…`.

Its password is used to connect, and stands nowhere else: names and messages are without it. Importing this loads
neither SQLAlchemy nor a driver.
"""

import re
from urllib.parse import unquote

SCHEME = re.compile(r"(postgresql|postgres|mysql|mariadb)(\+\w+)?://", re.IGNORECASE)
DATABASE = re.compile(r"(?:[^/?@]*@)?[^/?@]*/(?P<database>[^/?#@]+)(?:[?#].*)?")


def is_database_address(location: str) -> bool:
    """Tell whether a location is the address of a database server."""
    return SCHEME.match(location) is not None


def shown_address(location: str) -> str:
    """Return a location as it may be shown: the address of a database without its password, others as they are.

    It takes apart addresses that are written wrongly too, and rather leaves out too much.
    """
    scheme = SCHEME.match(location)
    if scheme is None:
        return location
    rest, _, parameters = location[scheme.end() :].partition("?")
    if "@" in parameters:  # a '?' of the password, or an '@' of it
        return f"{scheme[0]}…"
    login, mark, place = rest.rpartition("@")
    user = login.partition(":")[0]
    return f"{scheme[0]}{user}{mark}{place}"


def database_of(location: str) -> str:
    """Return the database that an address names; empty for any other location."""
    scheme = SCHEME.match(location)
    if scheme is None:
        return ""
    parts = DATABASE.fullmatch(location[scheme.end() :])
    return unquote(parts["database"]) if parts else "database"
