"""`@frozen`, the decorator of the values that travel between folders."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

ClassT = TypeVar("ClassT")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[ClassT]) -> type[ClassT]:
    """Make a class a dataclass with slots that cannot be changed, made by keywords only."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
