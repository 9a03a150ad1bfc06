"""Signatures of minisign: Ed25519, with a trusted comment that is signed too. They are verified
here; minisign signs.

    public key file    untrusted comment, base64 of "Ed" + key id (8) + public key (32)
    signature file     untrusted comment, base64 of "ED" or "Ed" + key id (8) + signature (64),
                       "trusted comment: …", base64 of the signature (64) of signature + trusted
                       comment

"ED" signs the BLAKE2b-512 of the file, as minisign does by default; "Ed" signs the file itself.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen

UNTRUSTED = "untrusted comment: "
TRUSTED = "trusted comment: "
SIGNATURE = re.compile(rf"{UNTRUSTED}.*\n(.*)\n{TRUSTED}(.*)\n(.*)\n")
ALGORITHM, PREHASHED = b"Ed", b"ED"
KEY_ID_BYTES, KEY_BYTES, SIGNATURE_BYTES = 8, 32, 64


@frozen
class PublicKey:
    """A public key, by which signatures are verified."""

    key_id: bytes
    key: bytes

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Return the key of a file, or of its second line alone, which begins with RW."""
        lines = [line.strip() for line in text.strip().splitlines()]
        if len(lines) > 2 or not lines or (len(lines) == 2 and not lines[0].startswith(UNTRUSTED)):
            raise InputError(
                "a key of minisign is a line of base64, with an untrusted comment above it or"
                " without one"
            )
        content = _decode(lines[-1], "the public key", 2 + KEY_ID_BYTES + KEY_BYTES)
        if content[:2] != ALGORITHM:
            raise InputError("the public key is not one of minisign: it begins with RW")
        return cls(key_id=content[2:10], key=content[10:])

    def __str__(self) -> str:
        return base64.b64encode(ALGORITHM + self.key_id + self.key).decode()

    @property
    def name(self) -> str:
        """The id of the key, as minisign prints it."""
        return _name(self.key_id)

    def require_signed(self, signature: bytes, message: bytes, problem: str) -> None:
        """Refuse a message that this key has not signed."""
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, message)
        except (InvalidSignature, ValueError) as error:
            raise StorageError(problem) from error


def load_public_key(text_or_file: str) -> PublicKey:
    """Return a key that is given as its text (RW…) or as the name of its file."""
    try:
        path = Path(text_or_file).expanduser()
        if path.is_file():
            return PublicKey.parse(path.read_text(encoding="utf-8"))
    # RuntimeError: the home of an unknown user
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        raise InputError(
            f"'{text_or_file:.80}': the public key cannot be read ({error}); give the key itself"
        ) from error
    try:
        return PublicKey.parse(text_or_file)
    except InputError as error:
        raise InputError(
            f"'{text_or_file:.80}' is neither a file nor a public key of minisign; one begins"
            " with RW"
        ) from error


def verify_signature(content: bytes, signature_file: bytes, key: PublicKey) -> None:
    """Refuse a signature that the key did not make of this content, by a StorageError."""
    lines = SIGNATURE.fullmatch(signature_file.decode("utf-8", errors="surrogateescape"))
    if lines is None:
        raise StorageError(
            "not a signature of minisign: it has four lines, with an untrusted and a trusted"
            " comment"
        )
    try:
        signed = _decode(lines[1], "the signature", 2 + KEY_ID_BYTES + SIGNATURE_BYTES)
        whole = _decode(lines[3], "the signature of the comment", SIGNATURE_BYTES)
    except InputError as error:
        raise StorageError(error.message) from error
    if signed[:2] not in (ALGORITHM, PREHASHED):
        raise StorageError("the signature is of an unknown algorithm; known: ED (prehashed) and Ed")
    algorithm, key_id, signature = signed[:2], signed[2:10], signed[10:]
    if key_id != key.key_id:
        raise StorageError(
            f"signed by another key: {_name(key_id)}, not {key.name}; it is not to be trusted"
        )
    message = hashlib.blake2b(content).digest() if algorithm == PREHASHED else content
    key.require_signed(
        signature, message, "the signature does not fit: the file is not the one that was signed"
    )
    comment = lines[2].encode("utf-8", errors="surrogateescape")
    key.require_signed(
        whole, signature + comment, "the trusted comment is not the one that was signed"
    )


def _decode(line: str, what: str, size_bytes: int) -> bytes:
    """Return the bytes of a line of base64; only the one spelling that encodes them is accepted."""
    try:
        content = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{what} is not base64: {error}") from error
    if len(content) != size_bytes or base64.b64encode(content).decode() != line:
        raise InputError(
            f"{what} is damaged: {len(content)} bytes, not {size_bytes}, or not spelt as base64 is"
        )
    return content


def _name(key_id: bytes) -> str:
    return f"{int.from_bytes(key_id, 'little'):X}"
