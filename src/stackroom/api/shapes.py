"""The shapes side of the public API: short declarations of arguments and of parts of answers."""

from stackroom.catalogue.codec import plain_record
from stackroom.tools.spec import (
    BARE_LIST,
    BARE_OBJECT,
    BARE_OBJECT_OR_NULL,
    LARGEST,
    optional,
    require_argument,
    when_any,
    when_known,
)

__all__ = ["BARE_LIST", "BARE_OBJECT", "BARE_OBJECT_OR_NULL", "LARGEST", "optional"]
__all__ += ["plain_record", "require_argument", "when_any", "when_known"]
