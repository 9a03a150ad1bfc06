"""Bearer tokens of an external issuer: JWTs, checked by their signature.

Only this module imports the code that checks signatures. A token that fails any check is not valid;
the reason is logged and not told to the caller.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import httpx
import jwt

from stackroom.control.accounts.accounts import insert_user, put_roles
from stackroom.control.accounts.users import EXTERNAL_PREFIX, User, find_user, load_roles
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import utc_now
from stackroom.errors import InputError
from stackroom.model.principal import Action
from stackroom.net.addresses import shown_address
from stackroom.net.deadline import DeadlineClient
from stackroom.settings import AuthSettings

LOG = logging.getLogger(__name__)
LONGEST_TOKEN = 16_384
LONGEST_CLAIM = 200
LEEWAY_S = 30
"""How far the issuer's clock may be ahead, in seconds."""
FETCH_TIMEOUT_S = 3.0
FRESH_S = 600.0
STALE_S = 3600.0
"""How long keys are used while their address does not answer."""
RETRY_S = 30.0
"""The shortest time between two fetches, whatever key ids tokens name."""
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Algorithms with a key pair; with a shared secret, a holder of the public key could sign."""


class PublishedKeys:
    """The keys at an address, fetched when they are needed and not too often. Safe to use from several threads."""

    def __init__(self, url: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        _require_url(url)
        self._url = url
        self._monotonic = monotonic
        self._client = DeadlineClient("", headers={"Accept": "application/json"})
        self._fetching = threading.Lock()
        self._keys: Mapping[str | None, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")

    def find(self, kid: str | None) -> jwt.PyJWK | None:
        """Return the key of this id, or the only key if a token names none; an unknown id fetches the keys again."""
        # While the keys are being fetched, only callers that need a missing one wait.
        if self._is_wanted(kid) and self._fetching.acquire(blocking=self._pick(kid) is None):
            try:
                if self._is_wanted(kid) and self._monotonic() - self._tried_at >= RETRY_S:
                    self._fetch()
            finally:
                self._fetching.release()
        return self._pick(kid)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _pick(self, kid: str | None) -> jwt.PyJWK | None:
        keys = self._keys
        if self._monotonic() - self._fetched_at > STALE_S:
            return None
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(kid)

    def _is_wanted(self, kid: str | None) -> bool:
        """Tell whether the keys are stale, or lack this id."""
        return self._monotonic() - self._fetched_at > FRESH_S or self._pick(kid) is None

    def _fetch(self) -> None:
        """Fetch the keys; if that fails, the earlier ones stay."""
        self._tried_at = self._monotonic()
        try:
            published = json.loads(self._client.request("GET", self._url, timeout_s=FETCH_TIMEOUT_S))["keys"]
            keys = _usable(published)
        except httpx.HTTPError as error:
            problem = shown_address(str(error)) or type(error).__name__
            LOG.warning("the issuer's keys at %s could not be fetched: %s", shown_address(self._url), problem)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            LOG.warning("%s has no valid set of keys (JWKS): %s", shown_address(self._url), type(error).__name__)
        else:
            self._keys = keys
            self._fetched_at = self._monotonic()


def _usable(published: Any) -> dict[str | None, jwt.PyJWK]:
    """Return the published keys that can verify signatures, by their id; those of a shared secret are none."""
    found: dict[str | None, jwt.PyJWK] = {}
    for entry in published:
        with suppress(jwt.PyJWTError):
            key = jwt.PyJWK(entry)
            if entry.get("use") != "enc" and key.algorithm_name in ALGORITHMS:
                found[entry.get("kid")] = key
    return found


def _require_url(url: str) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"setting 'auth.jwks_url': {error}") from error
    if parsed.scheme not in {"https", "http"} or not parsed.host:
        raise InputError("setting 'auth.jwks_url' must begin with https:// (or http:// for one on this machine)")


class ExternalIssuer:
    """Verifies the bearer tokens of an issuer, and creates accounts for its users. Safe to use from several threads."""

    def __init__(
        self, settings: AuthSettings, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._settings = settings
        self._database = database
        self._now = now
        self._keys = PublishedKeys(settings.jwks_url)

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
                key,
                algorithms=[key.algorithm_name],
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
