"""Signatures: those of the minisign program are verified, ours have its format, and nothing else passes."""

from pathlib import Path

import pytest

from pinakes.errors import InputError, StorageError
from pinakes.packs.signing import (
    PublicKey,
    SecretKey,
    load_public_key,
    load_secret_key,
    scrypt_parameters,
    verify_signature,
)

pytestmark = pytest.mark.row("N4")

CONTENT = b"A catalogue.\n"
# Made by minisign 0.11.
PUBLIC = """untrusted comment: minisign public key CA4EE939C3F32
RWQyP5yT7qQMADNtbTBYimbE6sv5Hp9CzZN3OUkMdJhK1yF6nhSVNKfF
"""
SECRET = """untrusted comment: a test
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMj+ck+6kDABAgxBrX1e2Q2UCDNv8V2B82l+SmzE1DIbRspVyRkVlaDNtbTBYimbE6sv5Hp9CzZN3OUkMdJhK1yF6nhSVNKfFAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
"""
PREHASHED = b"""untrusted comment: signature from minisign secret key
RUQyP5yT7qQMAClpsx7JmpARrV3TGbBEiZf1b2rLKotjI/R476GSK25t7CQNHoy7RoiAx/fuc9rZvrmrz4jtxk8Nnr2xLTOVIAw=
trusted comment: catalogue 7
d0Ig8Hh74fp+fKuUfTRhld3nvnMSdfx0+ky1hH/+xLo4xvsdlUCtpmiuf3mBm1gJeEt1Gk4D2fudZ5l4pw2hCA==
"""
LEGACY = b"""untrusted comment: signature from minisign secret key
RWQyP5yT7qQMAEXDAE3RJGL3nsUIM6vG7zDYYr2j+wj8T7u99fUtKhMIfNoCpsgq95cKOrweP0+lNhLLw6l6X+GJO1Yj4swPAQo=
trusted comment: catalogue 7
yHL5maQ0Or3dMr9ef42Qm5nbC5b43U4Gs8E07MuXnCkYP43Bu/rKWK4WoX9SoICewO6pRDdjS3GZA4Hz+pGJBQ==
"""
QUICK = (32_768, 16_777_216)


def no_password() -> str:
    raise AssertionError("no password is needed")


@pytest.mark.parametrize("signature", [PREHASHED, LEGACY])
def test_a_signature_of_the_minisign_program_is_verified(signature: bytes) -> None:
    assert verify_signature(CONTENT, signature, PUBLIC) == "catalogue 7"
    assert verify_signature(CONTENT, signature, PUBLIC.splitlines()[1]) == "catalogue 7"


def test_a_secret_key_of_the_minisign_program_signs_as_it_does() -> None:
    key = SecretKey.parse(SECRET, ask_password=no_password)
    assert key.sign(CONTENT, comment="catalogue 7") == PREHASHED
    assert key.public.dump().decode() == PUBLIC
    assert key.public.name == "CA4EE939C3F32"


@pytest.mark.parametrize("signature", [PREHASHED, LEGACY])
def test_every_flipped_bit_of_a_signature_outside_its_untrusted_comment_is_refused(signature: bytes) -> None:
    begin = signature.index(b"\n") + 1
    for place in range(begin * 8, len(signature) * 8):
        damaged = bytearray(signature)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(StorageError):
            verify_signature(CONTENT, bytes(damaged), PUBLIC)


def test_a_key_in_the_home_of_an_unknown_user_is_named() -> None:
    with pytest.raises(InputError, match=r"'~nobody-here/films\.pub': the public key cannot be read"):
        load_public_key("~nobody-here/films.pub")
    with pytest.raises(InputError, match=r"~nobody-here/films\.key: the secret key cannot be read"):
        load_secret_key(Path("~nobody-here/films.key"), ask_password=no_password)


def test_a_changed_file_another_key_and_a_cut_signature_are_refused() -> None:
    with pytest.raises(StorageError, match="not the one that was signed"):
        verify_signature(CONTENT + b" ", PREHASHED, PUBLIC)
    with pytest.raises(StorageError, match="signed by another key: CA4EE939C3F32"):
        verify_signature(CONTENT, PREHASHED, str(SecretKey.new().public))
    for length in range(0, len(PREHASHED), 7):
        with pytest.raises(StorageError):
            verify_signature(CONTENT, PREHASHED[:length], PUBLIC)


def test_a_key_with_a_password_is_read_back_with_it_and_with_no_other() -> None:
    key = SecretKey.new()
    text = key.dump(password="sésame", limits=QUICK).decode()
    assert SecretKey.parse(text, ask_password=lambda: "sésame") == key
    with pytest.raises(InputError, match="password of the secret key is wrong"):
        SecretKey.parse(text, ask_password=lambda: "sesame")
    assert SecretKey.parse(key.dump().decode(), ask_password=no_password) == key


def test_the_parameters_of_scrypt_are_those_that_libsodium_chooses() -> None:
    assert scrypt_parameters(33_554_432, 1_073_741_824) == (20, 8, 1)
    assert scrypt_parameters(524_288, 16_777_216) == (14, 8, 1)
    with pytest.raises(InputError, match="more memory or time"):
        scrypt_parameters(33_554_432, 1 << 40)


@pytest.mark.parametrize("text", ["", "RW", "no key", PUBLIC + PUBLIC, "RU" + PUBLIC.splitlines()[1][2:], "é" * 56])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        PublicKey.parse(text)
