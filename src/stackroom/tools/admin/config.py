"""The settings without secrets, as the resource `config://server`."""

from collections.abc import Mapping
from typing import Any

import orjson

from stackroom.model.principal import Action, Principal
from stackroom.net.shown import REDACTED, SECRET_NAME, shown_address
from stackroom.settings import Settings, read_package_sections
from stackroom.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec

CONFIG_ADDRESS = "config://server"


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return all settings as JSON values, with secrets redacted, also those inside URLs."""
    plain: dict[str, Any] = _plain("", settings.model_dump(exclude={"sections"}))
    for name, section in read_package_sections(settings).items():
        values = _plain("", section.model_dump())
        plain |= values if name in values else {name: values}
    return plain


def config_resources(settings: Settings) -> list[ResourceSpec]:
    """Declare `config://server`."""

    def read(_principal: Principal, rest: str) -> ResourceContent | None:
        if rest:
            return None
        text = orjson.dumps(plain_settings(settings), option=orjson.OPT_INDENT_2).decode()
        return ResourceContent(mime_type="application/json", text=text)

    entry = ResourceEntry(uri=CONFIG_ADDRESS, name="server configuration", mime_type="application/json")
    return [ResourceSpec(prefix=CONFIG_ADDRESS, action=Action.SERVER_ADMIN, entries=lambda _who: [entry], read=read)]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, one) for one in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    if SECRET_NAME.search(name):
        return REDACTED if text else ""
    return shown_address(text)
