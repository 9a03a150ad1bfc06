"""Redaction of secrets in URLs and settings that are shown, logged or stored."""

import re

REDACTED = "[redacted]"
LONGEST = 2_000
"""The longest text that is shown; it bounds the backtracking of the patterns."""
SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|pass$|pwd|secret|token|api[_-]?key|private[_-]?key|[_-]key$|credential|authori[sz]ation|cookie"
    r"|bearer",
    re.IGNORECASE,
)
"""Names of arguments and settings whose values are secrets."""
SECRET_WORDS = r"key|secret|pass|pwd|token|credential|auth|signature"
"""Parts of the names of URL parameters whose values are secrets; stricter than for arguments, one of which may be
`author`."""
SECRET_PARAMETERS = r"sig|code"
"""Further names of secret URL parameters, matched as a whole."""
_USERINFO = re.compile(r"(?<=://)\S*(?=@)")
"""Up to the last @: a password may contain any character, so too much is redacted rather than too little."""
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?\s]+)=([^&;#\s]+)")
_SECRET_PARAMETER = re.compile(rf"{SECRET_WORDS}|^(?:{SECRET_PARAMETERS})$", re.IGNORECASE)


def shown_address(address: str) -> str:
    """Redact user information and secret parameters in a URL, or in a text that contains one."""
    return _PARAMETER.sub(_without_secret, _USERINFO.sub(REDACTED, address[:LONGEST]))


def _without_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}={REDACTED}" if _SECRET_PARAMETER.search(parameter[1]) else parameter[0]
