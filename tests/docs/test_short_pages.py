"""The page on security is in the words of the code; `test_commands` follows it and the others."""

import re

from stackroom.model.principal import Action
from support.pages import ROOT


def test_the_security_model_names_permissions_that_exist() -> None:
    named = set(
        re.findall(
            r"\b(?:Access|Edit|Request|View|Manage|Server)[A-Z]\w+|\bServerAdmin\b",
            (ROOT / "docs" / "security.md").read_text(encoding="utf-8"),
        )
    )
    assert named
    assert named <= {*Action}
