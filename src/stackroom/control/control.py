"""Accounts, credentials, permissions, limits and the audit of a library, over one database."""

from stackroom.control.accounts.accounts import Accounts, CatalogueAccess
from stackroom.control.accounts.credentials import Credentials
from stackroom.control.accounts.identity_cache import IdentityCache
from stackroom.control.accounts.limits import LoginLimiter, RateLimiter, open_window
from stackroom.control.audit import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.frozen import frozen
from stackroom.model.principal import Quotas
from stackroom.settings import Settings


@frozen
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
    usual_quotas: Quotas  # the configured calls a minute, for whom no role says otherwise

    @classmethod
    def open(cls, settings: Settings) -> "Control":
        """Open the configured control database, or the library's own, and create it if it is
        missing.
        """
        database = ControlDatabase.open(settings.control_url)
        limits = settings.rate_limit
        quotas = Quotas(
            read=limits.read_per_minute, write=limits.write_per_minute, sql=limits.sql_per_minute
        )
        try:
            return cls.over(database, quotas=quotas)
        except BaseException:
            database.close()
            raise

    @classmethod
    def over(cls, database: ControlDatabase, *, quotas: Quotas) -> "Control":
        """Return a `Control` over an open control database."""
        window = open_window(database)
        return cls(
            database=database,
            accounts=Accounts(database),
            credentials=Credentials(database),
            access=CatalogueAccess(database),
            identities=IdentityCache(database, default_quotas=quotas),
            limiter=RateLimiter(window),
            login_limiter=LoginLimiter(window),
            audit=AuditLog(database),
            usual_quotas=quotas,
        )

    def close(self) -> None:
        """Write queued audit entries, and close every connection."""
        self.audit.close()
        self.database.close()
