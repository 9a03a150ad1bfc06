"""Failures of a database server as errors that say what to do, without the password."""

from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pinakes.errors import ExpectedError, InputError, UnavailableError
from pinakes.sources.database.address import DatabaseAddress

SERVERS = {"postgresql": "PostgreSQL", "mysql": "MySQL or MariaDB"}
LOGIN_CODES = ("28P01", "28000", 1044, 1045, 1698)
LOGIN_WORDS = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "role ")
DATABASE_CODES = ("3D000", 1046, 1049)
UNREACHED_CODES = (1040, 1053, 2002, 2003, 2006, 2013)
"""MySQL: too many connections, shutting down, no server, connection lost."""
UNREACHED_CLASSES = ("08", "53", "57")
"""PostgreSQL: the classes of states of lost connections, missing resources and shutdowns."""
PASSWORD_PLACES = {
    "postgresql": "set PGPASSWORD, or add a line to ~/.pgpass",
    "mysql": "set MYSQL_PWD, or 'password' in the [client] section of ~/.my.cnf",
}


def failure_of(error: SQLAlchemyError, address: DatabaseAddress) -> ExpectedError:
    """Return the error that tells a user why a server could not be read."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    code, reason = code_of(cause), address.without_password(_reason_of(cause))
    if code in LOGIN_CODES or (code is None and any(words in reason for words in LOGIN_WORDS)):
        return InputError(f"{address.name}: the login is refused: {reason}; {_password_advice(address)}")
    if code in DATABASE_CODES or (code is None and 'database "' in reason and "does not exist" in reason):
        return InputError(f"{address.name}: no such database: {reason}")
    if _is_unreached(error, code):
        return UnavailableError(f"{address.name}: {SERVERS[address.kind]} cannot be reached: {reason}")
    return InputError(f"{address.name}: cannot be read: {reason}")


def code_of(cause: Any) -> str | int | None:
    """Return a server's code for a failure: MySQL's number, or PostgreSQL's SQLSTATE; None where it has none."""
    number = cause.args[0] if getattr(cause, "args", ()) else None
    return number if isinstance(number, int) else getattr(cause, "sqlstate", None)


def _reason_of(cause: Any) -> str:
    """Return the first line of a message, without the driver's number before it."""
    arguments: tuple[Any, ...] = getattr(cause, "args", ())
    text = str(arguments[1]) if len(arguments) > 1 and isinstance(arguments[0], int) else str(cause)
    lines = text.strip().splitlines() or [type(cause).__name__]
    return lines[0].rpartition("FATAL:")[2].strip()


def _is_unreached(error: SQLAlchemyError, code: str | int | None) -> bool:
    if isinstance(code, str):
        return code[:2] in UNREACHED_CLASSES
    is_connecting = code is None and isinstance(error, DBAPIError) and type(error.orig).__name__ == "OperationalError"
    return code in UNREACHED_CODES or is_connecting


def _password_advice(address: DatabaseAddress) -> str:
    if address.password:
        return "check the user and the password"
    return f"no password was given, and that of an address is not kept: {PASSWORD_PLACES[address.kind]}"
