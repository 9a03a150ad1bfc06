"""The secret key that packs and releases are signed with, from a file; its password is asked for."""

import os
import sys
from pathlib import Path

import click
import orjson

from pinakes.errors import InputError
from pinakes.packs.builder import Sign
from pinakes.packs.signing import load_secret_key

PASSWORD_VARIABLE = "PINAKES_SIGNING_PASSWORD"


def signer_of(file: Path) -> Sign:
    """Return the function that signs manifests with the key of a file."""
    key = load_secret_key(file, ask_password=ask_password)

    def sign(content: bytes) -> bytes:
        known = orjson.loads(content)
        return key.sign(content, comment=f"{known['catalogue']} {known['version']} {known['content']}")

    return sign


def ask_password(*, is_new: bool = False) -> str:
    """Return the password of a secret key: from the environment, or asked for at the terminal."""
    given = os.environ.get(PASSWORD_VARIABLE)
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise InputError(f"the secret key has a password; set {PASSWORD_VARIABLE}, or run this at a terminal")
    return str(click.prompt("password of the secret key", hide_input=True, confirmation_prompt=is_new, err=True))
