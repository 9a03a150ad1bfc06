"""What a caller's assistant is told about the server: instructions, prompts, a skill, and other names of tools."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stackroom.errors import InputError, did_you_mean
from stackroom.model.principal import Principal
from stackroom.tools.instructions import instructions_for
from stackroom.tools.plain_names import with_plain_names
from stackroom.tools.prompt import PromptSpec
from stackroom.tools.skill import Skill
from stackroom.tools.toolbox import Toolboxes


class RenderedPrompt(NamedTuple):
    """A prompt with its arguments filled in."""

    description: str
    text: str


class Guide:
    """Tells each caller about the catalogues and tools that they may use, and about no other."""

    def __init__(self, toolboxes: Toolboxes) -> None:
        self._toolboxes = toolboxes

    def instructions(self, principal: Principal) -> str:
        """Return what the principal's assistant reads when it connects: the catalogues, and how to ask."""
        toolbox = self._toolboxes.of(principal.visibility)
        return instructions_for(toolbox.catalogues, toolbox.list_callable(principal), principal.visibility)

    def find_skill(self, principal: Principal) -> Skill | None:
        """Return the agent skill over the principal's catalogues; None where they may not ask them."""
        return self._toolboxes.of(principal.visibility).find_skill(principal)

    def list_prompts(self, principal: Principal) -> list[PromptSpec]:
        """Return the prompts that fit the tools which the principal may call, sorted by name."""
        return self._toolboxes.of(principal.visibility).list_prompts(principal)

    def render_prompt(
        self, principal: Principal, name: str, given: Mapping[str, str], *, is_plain: bool = False
    ) -> RenderedPrompt:
        """Return the text of a prompt; raise InputError for one that is not offered, and for wrong arguments.

        With `is_plain` it names tools by their plain names.
        """
        prompt = self._get_prompt(principal, name)
        text = prompt.render(given, principal)
        shown = with_plain_names(text, self.plain_names(principal)) if is_plain else text
        return RenderedPrompt(description=prompt.description, text=shown)

    def complete_prompt(
        self, principal: Principal, name: str, argument: str, typed: str, others: Mapping[str, str]
    ) -> Sequence[str]:
        """Return values that the typed text of a prompt's argument may become; `others` has the other arguments."""
        prompt = self._get_prompt(principal, name)
        return prompt.get_argument(argument).list_completions(principal, typed, others)

    def _get_prompt(self, principal: Principal, name: str) -> PromptSpec:
        offered = {prompt.name: prompt for prompt in self.list_prompts(principal)}
        if name not in offered:
            raise InputError(f"no prompt '{name[:80]}'{did_you_mean(name, list(offered))}")
        return offered[name]

    def plain_names(self, principal: Principal) -> Mapping[str, str]:
        """Return the plain name of each tool; a call may use either."""
        return self._toolboxes.of(principal.visibility).plain_names
