"""A prompt's declaration: a task that a user can choose, with the tools that it needs and the text that states it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pinakes.errors import InputError, did_you_mean
from pinakes.model.principal import Principal

LONGEST_ARGUMENT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """A value that the user gives."""

    name: str
    description: str
    required: bool = False
    complete: Callable[[Principal], Sequence[str]] | None = None
    """Returns the values that the caller can choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpec:
    """A prompt. It is offered to callers who may use every tool that it needs."""

    name: str
    description: str
    needs: tuple[str, ...]
    """The tools that the text tells to call."""
    arguments: Sequence[PromptArgument] = ()
    text: Callable[[Mapping[str, str]], str]
    """Returns the task, with the values of the arguments in it."""

    def render(self, given: Mapping[str, str]) -> str:
        """Return the task; raise InputError for an argument that is missing, unknown or too long."""
        known = [one.name for one in self.arguments]
        values = {name: value.strip() for name, value in given.items() if value.strip()}
        for name, value in values.items():
            if name not in known:
                right = f"known: {', '.join(known)}" if known else "there are none"
                raise InputError(f"unknown argument '{name[:80]}'{did_you_mean(name, known)}; {right}")
            if len(value) > LONGEST_ARGUMENT:
                raise InputError(f"'{name}' must have {LONGEST_ARGUMENT:,} or fewer characters")
        for one in self.arguments:
            if one.required and one.name not in values:
                raise InputError(f"'{one.name}' is missing; it is: {one.description}")
        return self.text(values)
