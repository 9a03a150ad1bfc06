"""What others may read, in a configuration, a note or a message: without what would let them in."""

import re

REDACTED = "[redacted]"
LONGEST = 2_000
"""How much of a text is shown: the patterns read one of nothing but beginnings anew from each of them."""
SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|pass$|pwd|secret|token|api[_-]?key|private[_-]?key|[_-]key$|credential|authori[sz]ation|cookie"
    r"|bearer",
    re.IGNORECASE,
)
"""The names of arguments and settings whose values are secrets."""
SECRET_WORDS = r"key|secret|pass|pwd|token|credential|auth|signature"
"""What the name of an address's parameter has in it where its value is a secret. It is the stricter: an argument may be
called `author`."""
SECRET_PARAMETERS = r"sig|code"
"""The whole names of further ones."""
_USERINFO = re.compile(r"(?<=://)\S*(?=@)")
"""Up to the last @: a password may have any character, and too much is better left out than too little."""
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?\s]+)=([^&;#\s]+)")
_SECRET_PARAMETER = re.compile(rf"{SECRET_WORDS}|^(?:{SECRET_PARAMETERS})$", re.IGNORECASE)


def shown_address(address: str) -> str:
    """Return an address, or a text with one, without users, passwords and parameters that are secret by their name."""
    return _PARAMETER.sub(_without_secret, _USERINFO.sub(REDACTED, address[:LONGEST]))


def _without_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}={REDACTED}" if _SECRET_PARAMETER.search(parameter[1]) else parameter[0]
