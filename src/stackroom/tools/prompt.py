"""A prompt's declaration: a task that a user can choose, with the tools that it needs and the text that states it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stackroom.errors import InputError, did_you_mean
from stackroom.model.principal import Principal

LONGEST_ARGUMENT = 2_000
CHOICES_NAMED = 20
"""How many choices an error names."""

Complete = Callable[[Principal, str, Mapping[str, str]], Sequence[str]]
"""Returns values that fit the typed text and the values of the other arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """A value that the user gives."""

    name: str
    description: str
    required: bool = False
    longest: int = LONGEST_ARGUMENT
    """The most characters."""
    choices: Callable[[Principal], Sequence[str]] | None = None
    """Returns the only values that the caller can choose from."""
    complete: Complete | None = None
    """Completes the typed text, where any value is taken."""

    def list_completions(self, principal: Principal, typed: str, others: Mapping[str, str]) -> Sequence[str]:
        """Return values that the typed text may become."""
        if self.choices is not None:
            return [value for value in self.choices(principal) if value.casefold().startswith(typed.casefold())]
        return self.complete(principal, typed, others) if self.complete is not None else ()

    def check(self, principal: Principal, value: str) -> str:
        """Return the value as it is spelt among the choices; raise InputError where it is too long or none of them."""
        if len(value) > self.longest:
            raise InputError(f"'{self.name}' must have {self.longest:,} or fewer characters")
        if self.choices is None:
            return value
        choices = {choice.casefold(): choice for choice in self.choices(principal)}
        if value.casefold() not in choices:
            hint, right = did_you_mean(value, list(choices.values())), _listed(list(choices.values()))
            raise InputError(f"'{self.name}' cannot be '{value[:80]}'{hint}; choose one of: {right}")
        return choices[value.casefold()]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpec:
    """A prompt. It is offered to callers who may use every tool that it needs."""

    name: str
    title: str = ""
    """The name for people, in lists to choose from."""
    description: str
    needs: tuple[str, ...]
    """The tools that the text tells to call."""
    arguments: Sequence[PromptArgument] = ()
    text: Callable[[Mapping[str, str]], str]
    """Returns the task, with the values of the arguments in it."""

    def get_argument(self, name: str) -> PromptArgument:
        """Return an argument by its name; raise InputError where there is none."""
        found = {one.name: one for one in self.arguments}
        if name not in found:
            right = f"known: {', '.join(found)}" if found else f"'{self.name}' has none"
            raise InputError(f"unknown argument '{name[:80]}'{did_you_mean(name, list(found))}; {right}")
        return found[name]

    def render(self, given: Mapping[str, str], principal: Principal) -> str:
        """Return the task; raise InputError for an argument that is missing, unknown, too long or no choice."""
        values = {name: value.strip() for name, value in given.items() if value.strip()}
        checked = {name: self.get_argument(name).check(principal, value) for name, value in values.items()}
        missing = [one for one in self.arguments if one.required and one.name not in checked]
        if missing:
            described = "; ".join(f"'{one.name}' is missing; it is: {one.description}" for one in missing)
            raise InputError(described)
        return self.text(checked)


def _listed(choices: Sequence[str]) -> str:
    more = f" and {len(choices) - CHOICES_NAMED} more" if len(choices) > CHOICES_NAMED else ""
    return (", ".join(choices[:CHOICES_NAMED]) or "none") + more
