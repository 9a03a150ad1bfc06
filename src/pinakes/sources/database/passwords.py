"""Passwords of database servers, found where PostgreSQL's and MySQL's own programs look for them."""

import configparser
from collections.abc import Mapping
from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.database.address import DatabaseAddress

VARIABLES = {"postgresql": "PGPASSWORD", "mysql": "MYSQL_PWD"}
MYSQL_FILE = Path("~/.my.cnf")
SECTION = "client"


def find_password(address: DatabaseAddress, environment: Mapping[str, str]) -> str:
    """Return the password of the address, the environment or a file; empty where there is none.

    PostgreSQL's driver reads `~/.pgpass` itself.
    """
    stated = address.password or environment.get(VARIABLES[address.kind], "")
    return stated or (_password_in(MYSQL_FILE.expanduser()) if address.kind == "mysql" else "")


def _password_in(file: Path) -> str:
    """Return the password in the section [client] of an option file of MySQL."""
    options = configparser.RawConfigParser(allow_no_value=True, strict=False)
    try:
        text = file.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("!")]
        options.read_string("\n".join(lines))
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise InputError(f"{file}: cannot be read for a password: {type(error).__name__}") from None
    stated = options.get(SECTION, "password", fallback="") or ""
    return stated[1:-1] if len(stated) > 1 and stated[0] == stated[-1] in "'\"" else stated
