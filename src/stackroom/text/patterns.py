"""Regular expressions that are compiled on first use: compiling takes longer than importing their modules."""

import re
from typing import Any, cast

METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")


class _PatternOnDemand:
    """Stands for a compiled expression, whose methods it takes over when it is first asked for one."""

    def __init__(self, expression: str, flags: int) -> None:
        self._expression = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the expression, and return an attribute of it."""
        compiled = re.compile(self._expression, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in METHODS})
        return getattr(compiled, name)


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression that is compiled on first use; a wrong one is found only then."""
    return cast("re.Pattern[str]", _PatternOnDemand(expression, flags))
