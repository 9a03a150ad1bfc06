"""The rules of the OpenSubsonic API: how clients log in, and the XML and JSON that they read.

A password is checked by the server's accounts, and an access token is an API key. Tokens made of a
password and a salt cannot be checked, since only hashes of secrets are stored: they are refused
with the code by which clients know that.
"""

from collections.abc import Mapping
from xml.etree import ElementTree

import orjson

from stackroom import __version__, api
from stackroom.api import http

VERSION = "1.16.1"  # the version of the Subsonic API that OpenSubsonic extends
NAMESPACE = "http://subsonic.org/restapi"
HEX_PREFIX = "enc:"
CODES: dict[type[api.ExpectedError], int] = {
    http.UnauthenticatedError: 40,
    api.ForbiddenError: 50,
    api.NotFoundError: 70,
}
OTHER_ERROR, MISSING_PARAMETER, NO_SALTED_TOKENS, SEVERAL_LOGINS, WRONG_KEY = 0, 10, 41, 43, 44


class LoginFormError(http.UnauthenticatedError):
    """A login in a form that is not taken, with the code of the API."""

    def __init__(self, message: str, *, subsonic_code: int) -> None:
        super().__init__(message)
        self.subsonic_code = subsonic_code


def find_login(parameters: Mapping[str, str]) -> http.GivenLogin:
    """Return the API key, or the user's name with a password or token."""
    key, user, password = parameters.get("apiKey"), parameters.get("u", ""), parameters.get("p")
    if key is not None:
        if user or password is not None or "t" in parameters:
            raise LoginFormError(
                "give 'apiKey' alone, without 'u', 'p' and 't'", subsonic_code=SEVERAL_LOGINS
            )
        return http.GivenLogin(secret=key)
    if "t" in parameters:
        raise LoginFormError(
            "salted tokens cannot be checked here, since passwords are stored as hashes only: have"
            " the player send an API key or the password",
            subsonic_code=NO_SALTED_TOKENS,
        )
    if not user or password is None:
        raise api.InputError(f"'{'p' if user else 'u'}' is missing: give 'u' and 'p', or 'apiKey'")
    return http.GivenLogin(user=user, secret=_decoded(password))


def _decoded(password: str) -> str:
    if not password.startswith(HEX_PREFIX):
        return password
    try:
        return bytes.fromhex(password.removeprefix(HEX_PREFIX)).decode()
    except ValueError as error:
        raise api.InputError("'p' is not hexadecimal UTF-8 after 'enc:'") from error


def render(content: Mapping[str, object], form: str, *, status: str = "ok") -> http.TextReply:
    """Return an answer as XML or JSON."""
    about = {"type": "stackroom", "serverVersion": __version__, "openSubsonic": True}
    answer = {"status": status, "version": VERSION, **about, **content}
    if form == "json":
        document = {"subsonic-response": answer}
        return http.TextReply(text=orjson.dumps(document).decode(), media_type="application/json")
    root = _element("subsonic-response", {"xmlns": NAMESPACE, **answer})
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return http.TextReply(text=text, media_type="text/xml")


def _element(name: str, content: object) -> ElementTree.Element:
    """Return a value as XML: fields are attributes, `value` is the text, and what has parts is
    within.
    """
    element = ElementTree.Element(name)
    fields = content if isinstance(content, Mapping) else {"value": content}
    for key, value in fields.items():
        if key == "value":
            element.text = _text(value)
        elif isinstance(value, list):
            element.extend(_element(key, one) for one in value)
        elif isinstance(value, Mapping):
            element.append(_element(key, value))
        else:
            element.set(key, _text(value))
    return element


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def reply_error(error: api.ExpectedError, parameters: Mapping[str, str]) -> http.TextReply:
    """Return an error with its code."""
    content = {"error": {"code": _code_of(error, parameters), "message": error.message}}
    return render(content, parameters.get("f", "xml"), status="failed")


def _code_of(error: api.ExpectedError, parameters: Mapping[str, str]) -> int:
    if isinstance(error, LoginFormError):
        return error.subsonic_code
    if isinstance(error, http.UnauthenticatedError) and "apiKey" in parameters:
        return WRONG_KEY
    if isinstance(error, api.InputError) and "' is missing" in error.message:
        return MISSING_PARAMETER
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), OTHER_ERROR)


PROTOCOL = http.ClientProtocol(suffix=".view", find_login=find_login, reply_error=reply_error)
