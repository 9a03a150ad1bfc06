"""The public keys of an external issuer: from a PEM file, or from its JWKS address."""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from stackroom.errors import InputError
from stackroom.net.deadline import DeadlineClient
from stackroom.net.shown import shown_address

LOG = logging.getLogger(__name__)
FETCH_TIMEOUT_S = 3.0
FRESH_S = 600.0
STALE_S = 3600.0
"""How long keys are used while their address does not answer."""
RETRY_S = 30.0
"""The shortest time between two fetches, whatever key ids tokens name."""
RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
CURVE_ALGORITHMS = {"secp256r1": ("ES256",), "secp384r1": ("ES384",), "secp521r1": ("ES512",)}
EDWARDS_ALGORITHMS = ("EdDSA",)

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key with the signature algorithms it can verify."""

    key: PublicKey
    algorithms: tuple[str, ...]


class Keys(Protocol):
    """A source of public keys."""

    def find(self, kid: str | None) -> VerifyingKey | None:
        """Return the key of this id, or the only key if a token names none; None if there is no such key."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class FileKeys:
    """The one key of a PEM file."""

    def __init__(self, path: Path, algorithms: Collection[str]) -> None:
        try:
            found = _verifying(load_pem_public_key(path.read_bytes()), algorithms)
        except OSError as error:
            raise InputError(f"setting 'auth.public_key_file': {path}: {error.strerror}") from error
        except (ValueError, UnsupportedAlgorithm) as error:
            raise InputError(f"setting 'auth.public_key_file': {path} is not a public key in PEM form") from error
        if found is None:
            wanted = ", ".join(algorithms)
            raise InputError(f"setting 'auth.public_key_file': the key of {path} is for none of {wanted}")
        self._key = found

    def find(self, kid: str | None) -> VerifyingKey | None:  # noqa: ARG002
        """Return the key, whatever id a token names."""
        return self._key

    def close(self) -> None:
        """Do nothing: there are no connections."""


class PublishedKeys:
    """The keys at an address, fetched when they are needed and not too often. Safe to use from several threads."""

    def __init__(
        self, url: str, algorithms: Collection[str], *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        _require_url(url)
        self._url = url
        self._algorithms = algorithms
        self._monotonic = monotonic
        self._client = DeadlineClient("", headers={"Accept": "application/json"})
        self._fetching = threading.Lock()
        self._keys: Mapping[str | None, VerifyingKey] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")

    def find(self, kid: str | None) -> VerifyingKey | None:
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

    def _pick(self, kid: str | None) -> VerifyingKey | None:
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
            keys = self._usable(published)
        except httpx.HTTPError as error:
            problem = shown_address(str(error)) or type(error).__name__
            LOG.warning("the issuer's keys at %s could not be fetched: %s", shown_address(self._url), problem)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            LOG.warning("%s has no valid set of keys (JWKS): %s", shown_address(self._url), type(error).__name__)
        else:
            self._keys = keys
            self._fetched_at = self._monotonic()

    def _usable(self, published: Any) -> dict[str | None, VerifyingKey]:
        found = ((entry.get("kid"), self._read(entry)) for entry in published if entry.get("use") != "enc")
        return {kid: key for kid, key in found if key is not None}

    def _read(self, entry: dict[str, Any]) -> VerifyingKey | None:
        """Return a published key; None if its type is not supported."""
        named = entry.get("alg")
        allowed = self._algorithms if named is None else [one for one in self._algorithms if one == named]
        try:
            return _verifying(jwt.PyJWK(entry).key, allowed)
        except jwt.PyJWTError:
            return None


def _verifying(key: Any, algorithms: Collection[str]) -> VerifyingKey | None:
    """Return the key with those allowed algorithms that it can verify; None if there are none."""
    if isinstance(key, RSAPublicKey):
        fitting: tuple[str, ...] = RSA_ALGORITHMS
    elif isinstance(key, EllipticCurvePublicKey):
        fitting = CURVE_ALGORITHMS.get(key.curve.name, ())
    elif isinstance(key, Ed25519PublicKey):
        fitting = EDWARDS_ALGORITHMS
    else:
        return None
    usable = tuple(one for one in fitting if one in algorithms)
    return VerifyingKey(key, usable) if usable else None


def _require_url(url: str) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"setting 'auth.jwks_url': {error}") from error
    if parsed.scheme not in {"https", "http"} or not parsed.host:
        raise InputError("setting 'auth.jwks_url' must begin with https:// (or http:// for one on this machine)")
