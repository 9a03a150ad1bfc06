"""Bearer tokens of an external issuer: JWTs, checked by their signature.

Only this module and `external_keys` import the code that checks signatures. A token that fails any check is not valid;
the reason is logged and not told to the caller.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt

from stackroom.control.accounts.accounts import insert_user, put_roles
from stackroom.control.accounts.external_keys import FileKeys, Keys, PublishedKeys
from stackroom.control.accounts.names import EXTERNAL_PREFIX
from stackroom.control.accounts.users import User, find_user, load_roles
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.time_columns import utc_now
from stackroom.model.principal import Action
from stackroom.settings import AuthSettings

LOG = logging.getLogger(__name__)
LONGEST_TOKEN = 16_384
LONGEST_CLAIM = 200
LEEWAY_S = 30
"""How far the issuer's clock may be ahead, in seconds."""


class ExternalIssuer:
    """Verifies the bearer tokens of an issuer, and creates accounts for its users. Safe to use from several threads."""

    def __init__(
        self, settings: AuthSettings, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._settings = settings
        self._database = database
        self._now = now
        self._keys = _open_keys(settings)

    def verify(self, token: str) -> tuple[User, frozenset[Action] | None, datetime] | None:
        """Return a token's user, its scopes (None: not narrowed) and when it expires; None if it is not valid."""
        claims = self._checked_claims(token)
        if claims is None:
            return None
        name = _name_in(claims, self._settings.user_claim)
        expires_at = _moment(claims["exp"])
        if name is None or expires_at is None or expires_at <= self._now():
            return None
        user = self._user_named(name)
        return None if user.disabled else (user, _scopes(claims), expires_at)

    def close(self) -> None:
        """Close connections."""
        self._keys.close()

    def _checked_claims(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of a token whose signature, dates and audience are right; else None."""
        if len(token) > LONGEST_TOKEN or token.count(".") != 2:
            return None
        try:
            key = self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                LOG.info("a bearer token was refused: none of the issuer's keys is the one it names")
                return None
            return jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            LOG.info("a bearer token was refused: %s", type(error).__name__)
            return None

    def _user_named(self, name: str) -> User:
        """Return the user, whose account is created when they are seen for the first time."""
        with self._database.read() as connection:
            user = find_user(connection, name)
        if user is not None:
            return user
        with self._database.change() as connection:
            # Another thread or process may have been first.
            user = find_user(connection, name)
            if user is not None:
                return user
            user_id = insert_user(connection, name, created_at=self._now(), external=True)
            put_roles(connection, user_id, self._first_roles(role.name for role in load_roles(connection)))
            created = find_user(connection, name)
        assert created is not None
        return created

    def _first_roles(self, known: Iterable[str]) -> list[str]:
        wanted = self._settings.default_role.lower()
        if not wanted:
            return []
        if wanted in known:
            return [wanted]
        LOG.warning("setting 'auth.default_role': there is no role '%s', so a new user has none", wanted)
        return []


def _open_keys(settings: AuthSettings) -> Keys:
    if settings.jwks_url:
        return PublishedKeys(settings.jwks_url, settings.algorithms)
    return FileKeys(Path(settings.public_key_file).expanduser(), settings.algorithms)


def _name_in(claims: Mapping[str, Any], claim: str) -> str | None:
    """Return the local name of a token's user; None if the issuer's name cannot be stored."""
    value = claims.get(claim)
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_CLAIM or not value.isprintable():
        LOG.info("a bearer token was refused: its claim '%s' does not name a user", claim)
        return None
    return EXTERNAL_PREFIX + value


def _moment(seconds: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _scopes(claims: Mapping[str, Any]) -> frozenset[Action] | None:
    """Return the permissions among a token's scopes; None if there are none, so that it is not narrowed."""
    named = claims.get("scope", claims.get("scp", ""))
    words = named.split() if isinstance(named, str) else named if isinstance(named, list) else []
    ours = {str(action): action for action in Action}
    return frozenset(ours[word] for word in words if isinstance(word, str) and word in ours) or None
