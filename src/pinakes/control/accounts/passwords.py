"""Password hashing by argon2id, a few at a time, in the same time for a user who does not exist."""

import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pinakes.errors import InputError

SHORTEST = 8
LONGEST = 1024
HASHER = PasswordHasher(memory_cost=19_456, time_cost=2, parallelism=1)
AT_ONCE = threading.BoundedSemaphore(4)
"""Each hash takes 19 MiB and a core; more at once would make all of them slow."""
UNMATCHED_HASH = "$argon2id$v=19$m=19456,t=2,p=1$aVp8dp2BvvSkhIRfM6FQNQ$nzDJPYQBzUxt0eDJ4MU3vb0FWK/UhKwbFqoFYbvd/cs"
"""A hash that no known password matches, compared with where a user does not exist or has no password."""


def require_good_password(text: str) -> None:
    """Refuse a password that is too short, too long or blank."""
    if not SHORTEST <= len(text) <= LONGEST or not text.strip():
        raise InputError(f"'password' must have {SHORTEST} to {LONGEST:,} characters, and not only spaces")


def hash_password(text: str) -> str:
    """Return the hash that is stored in place of a password."""
    with AT_ONCE:
        return HASHER.hash(_bytes(text))


def verify_password(stored: str | None, text: str) -> bool:
    """Tell whether a password matches a stored hash, in the same time where there is none."""
    with AT_ONCE:
        try:
            HASHER.verify(stored or UNMATCHED_HASH, _bytes(text[:LONGEST]))
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None and len(text) <= LONGEST


def _bytes(text: str) -> bytes:
    """Return the normalised bytes of a password, the same however its accents were typed."""
    return unicodedata.normalize("NFKC", text).encode("utf-8", "surrogatepass")
