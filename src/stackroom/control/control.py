"""Accounts, credentials, permissions, limits and the audit of a library, over one database."""

import importlib
from dataclasses import dataclass
from typing import Protocol

from stackroom.control.accounts.accounts import Accounts
from stackroom.control.accounts.catalogue_access import CatalogueAccess
from stackroom.control.accounts.credentials import Credentials
from stackroom.control.accounts.identity_cache import IdentityCache, Issuer
from stackroom.control.accounts.limits import LoginLimiter, RateLimiter
from stackroom.control.audit.log import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.opening import database_url
from stackroom.errors import InputError
from stackroom.model.principal import Quotas
from stackroom.settings import RateLimitSettings, Settings


class OpenIssuer(Issuer, Protocol):
    """An external issuer whose connections are open."""

    def close(self) -> None:
        """Close them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The open control database of a library, with everything that reads and changes it."""

    database: ControlDatabase
    accounts: Accounts
    credentials: Credentials
    access: CatalogueAccess
    identities: IdentityCache
    limiter: RateLimiter
    login_limiter: LoginLimiter
    audit: AuditLog
    usual_quotas: Quotas
    """The configured calls a minute, for whom no role says otherwise."""
    issuer: OpenIssuer | None = None
    """The external issuer whose bearer tokens are accepted; None: no tokens but those of this server."""

    @classmethod
    def open(cls, settings: Settings) -> "Control":
        """Open the configured control database, or the library's own, and create it if it is missing."""
        database = ControlDatabase.open(database_url(settings))
        try:
            issuer = _open_issuer(settings, database)
            return cls.over(database, quotas=_quotas(settings.rate_limit), issuer=issuer)
        except BaseException:
            database.close()
            raise

    @classmethod
    def over(cls, database: ControlDatabase, *, quotas: Quotas, issuer: OpenIssuer | None = None) -> "Control":
        """Return everything that reads and changes an open control database."""
        return cls(
            database=database,
            accounts=Accounts(database),
            credentials=Credentials(database),
            access=CatalogueAccess(database),
            identities=IdentityCache(database, default_quotas=quotas, external=issuer),
            limiter=RateLimiter(),
            login_limiter=LoginLimiter(),
            audit=AuditLog(database),
            usual_quotas=quotas,
            issuer=issuer,
        )

    def close(self) -> None:
        """Write queued audit entries, and close every connection."""
        self.audit.close()
        if self.issuer is not None:
            self.issuer.close()
        self.database.close()


def _quotas(settings: RateLimitSettings) -> Quotas:
    return Quotas(
        read=settings.read_per_minute,
        write=settings.write_per_minute,
        sql=settings.sql_per_minute,
    )


def _open_issuer(settings: Settings, database: ControlDatabase) -> OpenIssuer | None:
    """Return the external issuer, if one is configured; the code that checks signatures is imported only then."""
    if not settings.auth.issuer:
        return None
    if settings.offline:
        raise InputError("'auth.jwks_url' needs the network, and 'offline' is set: remove one of the two")
    issuer: OpenIssuer = importlib.import_module("stackroom.control.accounts.external_issuer").ExternalIssuer(
        settings.auth, database
    )
    return issuer
