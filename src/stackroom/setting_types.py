"""The form of settings: a section with its fields, their environment variables, and the types of their values."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def setting(default: Any, variable: str, *, ge: float | None = None, le: float | None = None) -> Any:
    """Declare a setting with its default, its environment variable and its bounds."""
    return Field(default, json_schema_extra={"variable": variable}, ge=ge, le=le)


def _refuse_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return value


def split_list(value: Any) -> Any:
    """Return the parts of a list that is written with commas, as in environment variables."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(type(part) in (str, int) for part in parts):
        raise ValueError("is not a list of texts; such as ['a', 'b']")
    return tuple(str(part).strip() for part in parts if str(part).strip())


def require_http(address: str) -> str:
    """Refuse an address of another scheme than HTTP."""
    if not address.startswith(("http://", "https://")):
        raise ValueError("does not begin with http:// or https://")
    return address


def require_origin(address: str) -> str:
    """Refuse anything but the scheme, host and port (`*`: any) of a web server: it becomes part of a header."""
    if not re.fullmatch(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:([0-9]{1,5}|\*))?/?", address):
        raise ValueError("is not a scheme, a host and a port, such as https://models.example.org")
    return address.rstrip("/")


def refuse_address(path: str) -> str:
    """Refuse an address where a file or folder of this machine is needed."""
    if "://" in path:
        raise ValueError("is an address; a file or folder of this machine is needed")
    return path


Whole = Annotated[int, BeforeValidator(_refuse_flag)]
Number = Annotated[float, BeforeValidator(_refuse_flag)]
Texts = Annotated[tuple[str, ...], BeforeValidator(split_list)]
Address = Annotated[str, AfterValidator(require_http)]
LocalPath = Annotated[str, AfterValidator(refuse_address)]


class SettingsSection(BaseModel):
    """A section of the settings: fields with defaults, each with its environment variable; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
