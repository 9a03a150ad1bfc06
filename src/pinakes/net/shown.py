"""Addresses as others may read them, in a configuration or a message: without what would let them in."""

import re

REDACTED = "[redacted]"
LONGEST = 2_000
"""How much of a text is shown: the patterns read one of nothing but beginnings anew from each of them."""
_USERINFO = re.compile(r"(?<=://)\S*(?=@)")
"""Up to the last @: a password may have any character, and too much is better left out than too little."""
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?\s]+)=([^&;#\s]+)")
_SECRET_PARAMETER = re.compile(
    r"key|secret|pass|pwd|token|credential|auth|signature|^(?:sig|code)$",
    re.IGNORECASE,
)


def shown_address(address: str) -> str:
    """Return an address, or a text with one, without users, passwords and parameters that are secret by their name."""
    return _PARAMETER.sub(_without_secret, _USERINFO.sub(REDACTED, address[:LONGEST]))


def _without_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}={REDACTED}" if _SECRET_PARAMETER.search(parameter[1]) else parameter[0]
