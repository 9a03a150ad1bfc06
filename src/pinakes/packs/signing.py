"""Signatures in the formats of minisign: Ed25519, with a trusted comment that is signed too.

    public key file    untrusted comment, base64 of "Ed" + key id (8) + public key (32)
    signature file     untrusted comment, base64 of "ED" or "Ed" + key id (8) + signature (64),
                       "trusted comment: …", base64 of the signature (64) of signature + trusted comment
    secret key file    untrusted comment, base64 of "Ed" + "Sc" or zeros + "B2" + salt (32) + two limits of scrypt
                       (8 each) + key id (8), seed and public key (64), checksum (32), encrypted where it has a password

"ED" signs the BLAKE2b-512 of the file, as minisign does by default; "Ed" signs the file itself.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from pinakes.errors import InputError, StorageError

UNTRUSTED = "untrusted comment: "
TRUSTED = "trusted comment: "
ALGORITHM, PREHASHED = b"Ed", b"ED"
SCRYPT, NO_KDF, CHECKSUM = b"Sc", b"\0\0", b"B2"
KEY_ID_BYTES, KEY_BYTES, SECRET_BYTES, SIGNATURE_BYTES, SALT_BYTES = 8, 32, 64, 64, 32
ENCRYPTED_BYTES = KEY_ID_BYTES + SECRET_BYTES + 32
SMALLEST_OPSLIMIT = 32_768
OPSLIMIT, MEMLIMIT = 33_554_432, 1_073_741_824
"""The limits of a new key with a password, as minisign has them: a gigabyte of memory for a moment."""

AskPassword = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """The public half of a key, by which signatures are verified."""

    key_id: bytes
    key: bytes

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Return the key of a file, or of its second line alone, which begins with RW."""
        content = _decode(_last_line(text), "the public key", 2 + KEY_ID_BYTES + KEY_BYTES)
        if content[:2] != ALGORITHM:
            raise InputError("the public key is not one of minisign: it begins with RW")
        return cls(key_id=content[2:10], key=content[10:])

    def __str__(self) -> str:
        return base64.b64encode(ALGORITHM + self.key_id + self.key).decode()

    @property
    def name(self) -> str:
        """The id of the key, as minisign prints it."""
        return _name(self.key_id)

    def dump(self) -> bytes:
        """Return the public key file."""
        return f"{UNTRUSTED}minisign public key {self.name}\n{self}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKey:
    """The secret half of a key, which signs."""

    key_id: bytes
    seed: bytes

    @classmethod
    def new(cls) -> "SecretKey":
        """Make a key."""
        return cls(key_id=os.urandom(KEY_ID_BYTES), seed=os.urandom(KEY_BYTES))

    @classmethod
    def parse(cls, text: str, *, ask_password: AskPassword) -> "SecretKey":
        """Return the key of a file; `ask_password` is called where it is encrypted."""
        content = _decode(_last_line(text), "the secret key", 54 + ENCRYPTED_BYTES)
        algorithm, kdf, checksum = content[:2], content[2:4], content[4:6]
        if algorithm != ALGORITHM or checksum != CHECKSUM or kdf not in (SCRYPT, NO_KDF):
            raise InputError("the secret key is not one of minisign")
        salt, ops, memory, secret = content[6:38], content[38:46], content[46:54], content[54:]
        if kdf == SCRYPT:
            limits = int.from_bytes(ops, "little"), int.from_bytes(memory, "little")
            secret = _xor(secret, _stretch(ask_password(), salt, *limits))
        return cls._checked(secret)

    @classmethod
    def _checked(cls, secret: bytes) -> "SecretKey":
        """Return the key; its public half tells a wrong password, as minisign leaves the checksum out at times."""
        key_id, pair, told = secret[:KEY_ID_BYTES], secret[KEY_ID_BYTES:-32], secret[-32:]
        key = cls(key_id=key_id, seed=pair[:KEY_BYTES])
        has_checksum = told in (bytes(len(told)), _checksum(key_id, pair))
        if not has_checksum or key.public.key != pair[KEY_BYTES:]:
            raise InputError("the password of the secret key is wrong, or the file is damaged")
        return key

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(key_id=self.key_id, key=self._private.public_key().public_bytes_raw())

    def dump(self, *, password: str = "", limits: tuple[int, int] = (OPSLIMIT, MEMLIMIT)) -> bytes:
        """Return the secret key file, encrypted where there is a password."""
        pair = self.seed + self.public.key
        secret = self.key_id + pair + _checksum(self.key_id, pair)
        salt, limits = (os.urandom(SALT_BYTES), limits) if password else (bytes(SALT_BYTES), (0, 0))
        if password:
            secret = _xor(secret, _stretch(password, salt, *limits))
        head = ALGORITHM + (SCRYPT if password else NO_KDF) + CHECKSUM + salt
        content = head + b"".join(limit.to_bytes(8, "little") for limit in limits) + secret
        kind = "encrypted" if password else "unencrypted"
        return f"{UNTRUSTED}minisign {kind} secret key\n{base64.b64encode(content).decode()}\n".encode()

    def sign(self, content: bytes, *, comment: str) -> bytes:
        """Return the signature file of some content, with a comment that is signed too."""
        if "\n" in comment or "\r" in comment:
            raise InputError("the comment of a signature is one line")
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


def verify_signature(content: bytes, signature: bytes, public_key: str) -> str:
    """Return the trusted comment of a signature that a key made of this content; raise StorageError for any other."""
    key = PublicKey.parse(public_key)
    algorithm, key_id, signed, comment, whole = _parse_signature(signature)
    if key_id != key.key_id:
        raise StorageError(f"signed by another key: {_name(key_id)}, not {key.name}; it is not to be trusted")
    message = hashlib.blake2b(content).digest() if algorithm == PREHASHED else content
    _require_signed(key, signed, message, "the signature does not fit: the file is not the one that was signed")
    _require_signed(key, whole, signed + comment, "the trusted comment is not the one that was signed")
    return comment.decode(errors="replace")


def load_public_key(text_or_file: str) -> PublicKey:
    """Return a key that is given as its text (RW…) or as the name of its file."""
    try:
        path = Path(text_or_file).expanduser()
        if path.is_file():
            return PublicKey.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # RuntimeError: the home of an unknown user
        raise InputError(f"'{text_or_file:.80}': the public key cannot be read: {error}") from error
    try:
        return PublicKey.parse(text_or_file)
    except InputError as error:
        raise InputError(f"'{text_or_file:.80}' is neither a file nor a public key of minisign (RW…)") from error


def load_secret_key(path: Path, *, ask_password: AskPassword) -> SecretKey:
    """Return the key of a secret key file."""
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # RuntimeError: the home of an unknown user
        raise InputError(f"{path}: the secret key cannot be read: {error}") from error
    return SecretKey.parse(text, ask_password=ask_password)


def _parse_signature(signature: bytes) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Return algorithm, key id, signature, trusted comment and the signature over both."""
    lines = signature.decode("utf-8", errors="surrogateescape").split("\n")
    has_shape = len(lines) == 5 and not lines[4] and lines[0].startswith(UNTRUSTED) and lines[2].startswith(TRUSTED)
    if not has_shape:
        raise StorageError("not a signature of minisign: it has four lines, with an untrusted and a trusted comment")
    comment = lines[2].removeprefix(TRUSTED).encode("utf-8", errors="surrogateescape")
    try:
        signed = _decode(lines[1], "the signature", 2 + KEY_ID_BYTES + SIGNATURE_BYTES)
        whole = _decode(lines[3], "the signature of the comment", SIGNATURE_BYTES)
    except InputError as error:
        raise StorageError(error.message) from error
    if signed[:2] not in (ALGORITHM, PREHASHED):
        raise StorageError("the signature is of an unknown algorithm; known: ED (prehashed) and Ed")
    return signed[:2], signed[2:10], signed[10:], comment, whole


def _require_signed(key: PublicKey, signature: bytes, message: bytes, problem: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key.key).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise StorageError(problem) from error


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) > 2 or not lines or (len(lines) == 2 and not lines[0].startswith(UNTRUSTED)):
        raise InputError("a key of minisign is a line of base64, with an untrusted comment above it or without one")
    return lines[-1]


def _decode(line: str, what: str, size_bytes: int) -> bytes:
    """Return the bytes of a line of base64; only the one spelling that encodes them is accepted."""
    try:
        content = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{what} is not base64: {error}") from error
    if len(content) != size_bytes or base64.b64encode(content).decode() != line:
        raise InputError(f"{what} is damaged: {len(content)} bytes, not {size_bytes}, or not spelt as base64 is")
    return content


def _name(key_id: bytes) -> str:
    return f"{int.from_bytes(key_id, 'little'):X}"


def _checksum(key_id: bytes, pair: bytes) -> bytes:
    return hashlib.blake2b(ALGORITHM + key_id + pair, digest_size=32).digest()


def _xor(some: bytes, others: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(some, others, strict=True))


def _stretch(password: str, salt: bytes, opslimit: int, memlimit: int) -> bytes:
    """Return the bytes that a secret key is encrypted with, by scrypt as libsodium chooses its parameters."""
    log_n, r, p = scrypt_parameters(opslimit, memlimit)
    return Scrypt(salt=salt, length=ENCRYPTED_BYTES, n=1 << log_n, r=r, p=p).derive(password.encode())


def scrypt_parameters(opslimit: int, memlimit: int) -> tuple[int, int, int]:
    """Return log2(N), r and p of scrypt for two limits; refuse those that would take more than minisign's own."""
    if opslimit > OPSLIMIT or memlimit > MEMLIMIT:
        raise InputError("the secret key asks for more memory or time than keys of minisign do")
    r, opslimit = 8, max(opslimit, SMALLEST_OPSLIMIT)
    if opslimit < memlimit // 32:
        return _log_n(opslimit // (r * 4)), r, 1
    log_n = _log_n(memlimit // (r * 128))
    most = min(opslimit // 4 >> log_n, 0x3FFFFFFF)
    return log_n, r, max(most // r, 1)


def _log_n(most: int) -> int:
    """Return the largest exponent with 2^n above half of the most, as libsodium finds it."""
    return next(n for n in range(1, 64) if 1 << n > most // 2)
