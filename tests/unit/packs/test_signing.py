"""Signatures: those of the minisign program are verified, and nothing else passes."""

import pytest

from stackroom.errors import InputError, StorageError
from stackroom.packs.signing import PublicKey, load_public_key, verify_signature
from support.signer import Signer

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
KEY = PublicKey.parse(PUBLIC)


@pytest.mark.parametrize("signature", [PREHASHED, LEGACY])
def test_a_signature_of_the_minisign_program_is_verified(signature: bytes) -> None:
    verify_signature(CONTENT, signature, KEY)
    verify_signature(CONTENT, signature, PublicKey.parse(PUBLIC.splitlines()[1]))


def test_the_signer_of_the_tests_signs_as_the_minisign_program_does() -> None:
    key = Signer.parse(SECRET)
    assert key.sign(CONTENT, comment="catalogue 7") == PREHASHED
    assert key.public == KEY
    assert key.public_file.decode() == PUBLIC
    assert key.public.name == "CA4EE939C3F32"


@pytest.mark.parametrize("signature", [PREHASHED, LEGACY])
def test_every_flipped_bit_of_a_signature_outside_its_untrusted_comment_is_refused(
    signature: bytes,
) -> None:
    begin = signature.index(b"\n") + 1
    for place in range(begin * 8, len(signature) * 8):
        damaged = bytearray(signature)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(StorageError):
            verify_signature(CONTENT, bytes(damaged), KEY)


def test_a_key_in_the_home_of_an_unknown_user_is_named() -> None:
    with pytest.raises(
        InputError, match=r"'~nobody-here/films\.pub': the public key cannot be read"
    ):
        load_public_key("~nobody-here/films.pub")


def test_a_changed_file_another_key_and_a_cut_signature_are_refused() -> None:
    with pytest.raises(StorageError, match="not the one that was signed"):
        verify_signature(CONTENT + b" ", PREHASHED, KEY)
    with pytest.raises(StorageError, match="signed by another key: CA4EE939C3F32"):
        verify_signature(CONTENT, PREHASHED, Signer.new().public)
    for length in range(0, len(PREHASHED), 7):
        with pytest.raises(StorageError):
            verify_signature(CONTENT, PREHASHED[:length], KEY)


@pytest.mark.parametrize(
    "text", ["", "RW", "no key", PUBLIC + PUBLIC, "RU" + PUBLIC.splitlines()[1][2:], "é" * 56]
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        PublicKey.parse(text)
