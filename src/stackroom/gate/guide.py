"""The instructions for a caller's assistant, and other names of tools."""

from collections.abc import Mapping

from stackroom.model.principal import Principal
from stackroom.tools.instructions import instructions_for
from stackroom.tools.toolbox import Toolboxes


class Guide:
    """Tells each caller about the catalogues and tools that they may use, and about no other."""

    def __init__(self, toolboxes: Toolboxes) -> None:
        self._toolboxes = toolboxes

    def instructions(self, principal: Principal) -> str:
        """Return what the principal's assistant reads when it connects: the catalogues, and how to ask."""
        toolbox = self._toolboxes.of(principal.visibility)
        return instructions_for(toolbox.catalogues, toolbox.list_callable(principal), principal.visibility)

    def plain_names(self, principal: Principal) -> Mapping[str, str]:
        """Return the plain name of each tool; a call may use either."""
        return self._toolboxes.of(principal.visibility).plain_names
