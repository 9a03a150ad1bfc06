"""The address of a database server: `postgresql://USER:PASSWORD@HOST/DATABASE`, `mysql://…` or `mariadb://…`.

Its password is used to connect, and stands nowhere else: `name` and every message are without it. Importing this loads
no driver.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pinakes.errors import InputError, did_you_mean

SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
"""Scheme of an address → kind of server."""
FORMS = {
    "postgresql": "postgresql://USER@HOST:5432/DATABASE",
    "mysql": "mysql://USER@HOST:3306/DATABASE",
}
PARAMETERS = {
    "postgresql": (
        "host",
        "options",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "channel_binding",
        "target_session_attrs",
        "gssencmode",
        "passfile",
        "service",
    ),
    "mysql": (
        "unix_socket",
        "charset",
        "ssl_ca",
        "ssl_cert",
        "ssl_key",
        "ssl_check_hostname",
    ),
}
"""The parameters that an address may have: how to reach the server, and nothing that changes what a reading does."""
PASSWORDS = ("password", "passwd", "pwd")
"""Names of parameters that are read as the password."""
SCHEME = re.compile(rf"({'|'.join(SCHEMES)})(\+\w+)?://", re.IGNORECASE)
LOCAL = ("", "localhost", "127.0.0.1", "::1")
"""Hosts that are this machine."""
PARTS = re.compile(
    r"(?:(?P<login>[^/?]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?:@\[\]]*)(?::(?P<port>\d{1,5}))?"
    r"(?:/(?P<database>[^/?]*))?(?:\?(?P<parameters>.*))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """The parts of an address."""

    kind: str
    """`postgresql` or `mysql`."""
    scheme: str
    """The kind as it is written in the name: `postgresql`, `mysql` or `mariadb`."""
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: int | None = None
    database: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, location: str) -> "DatabaseAddress":
        """Return the parts of an address; the driver of `postgresql+psycopg://` is ignored."""
        scheme = SCHEME.match(location)
        parts = PARTS.fullmatch(location[scheme.end() :]) if scheme else None
        if scheme is None or parts is None:
            forms = " or ".join(FORMS.values())
            raise InputError(f"{shown_address(location)}: not the address of a database; write {forms}")
        written = scheme[1].lower()
        user, _, password = (parts["login"] or "").partition(":")
        parameters = dict(parse_qsl(parts["parameters"] or "", keep_blank_values=True))
        stated = [parameters.pop(name) for name in PASSWORDS if name in parameters]
        address = cls(
            kind=SCHEMES[written],
            scheme="mariadb" if written == "mariadb" else SCHEMES[written],
            user=unquote(user),
            password=unquote(password) or next(iter(stated), ""),
            host=parts["host"].strip("[]"),
            port=int(parts["port"]) if parts["port"] else None,
            database=unquote(parts["database"] or ""),
            parameters=parameters,
        )
        address._require_known()
        return address

    @property
    def name(self) -> str:
        """The address without its password, which opens the same database where the password is known otherwise."""
        login = f"{quote(self.user, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        parameters = f"?{urlencode(self.parameters, quote_via=quote)}" if self.parameters else ""
        return f"{self.scheme}://{login}{host}{port}/{quote(self.database, safe='')}{parameters}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        host = self.parameters.get("host", self.host)
        return host.lower() in LOCAL or host.startswith("/")

    def without_password(self, text: str) -> str:
        """Return a text, such as a server's message, without the password."""
        for written in (self.password, quote(self.password, safe="")) if self.password else ():
            text = text.replace(written, "***")
        return text

    def _require_known(self) -> None:
        known = list(PARAMETERS[self.kind])
        for name in self.parameters:
            if name not in known:
                raise InputError(
                    f"{self.name.partition('?')[0]}: unknown parameter '{name}'{did_you_mean(name, known)}; "
                    f"known: {', '.join(known)}"
                )


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
    parts = PARTS.fullmatch(location[scheme.end() :].partition("#")[0]) if scheme else None
    return unquote(parts["database"] or "") or "database" if parts else "database" if scheme else ""
