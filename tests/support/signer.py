"""A signer for tests, which makes the signatures that the minisign program makes."""

import base64
import hashlib
import os
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stackroom.packs.signing import (
    ALGORITHM,
    KEY_BYTES,
    KEY_ID_BYTES,
    PREHASHED,
    TRUSTED,
    UNTRUSTED,
    PublicKey,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """A secret key."""

    key_id: bytes
    seed: bytes

    @classmethod
    def new(cls) -> "Signer":
        """Make a key."""
        return cls(key_id=os.urandom(KEY_ID_BYTES), seed=os.urandom(KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> "Signer":
        """Return the key of an unencrypted secret key file of minisign."""
        secret = base64.b64decode(text.splitlines()[1])[54:]
        return cls(
            key_id=secret[:KEY_ID_BYTES], seed=secret[KEY_ID_BYTES : KEY_ID_BYTES + KEY_BYTES]
        )

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(key_id=self.key_id, key=self._private.public_key().public_bytes_raw())

    @property
    def public_file(self) -> bytes:
        """The public key file."""
        line = base64.b64encode(ALGORITHM + self.key_id + self.public.key).decode()
        return f"{UNTRUSTED}minisign public key {self.public.name}\n{line}\n".encode()

    def sign(self, content: bytes, *, comment: str = "a test") -> bytes:
        """Return the signature file of some content."""
        signature = self._private.sign(hashlib.blake2b(content).digest())
        whole = self._private.sign(signature + comment.encode())
        lines = (
            f"{UNTRUSTED}signature from minisign secret key",
            base64.b64encode(PREHASHED + self.key_id + signature).decode(),
            f"{TRUSTED}{comment}",
            base64.b64encode(whole).decode(),
        )
        return "".join(f"{line}\n" for line in lines).encode()

    @property
    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)
