"""An operation that the engine does not have, declared once, and `stackroom` with it: a program."""

from pydantic import Field

from stackroom.cli.main import main
from stackroom.generic import tools
from stackroom.tools.operation import Call, operation
from stackroom.tools.spec import ToolParams, ToolResult
from support.launching import SCRIPT

PROGRAM = (*SCRIPT, f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')")


class LetterParams(ToolParams):
    """A letter."""

    letter: str = Field(min_length=1, max_length=1, description="the letter that names begin with")


class LetterResult(ToolResult):
    """The catalogues that a letter begins."""

    catalogues: tuple[str, ...]
    letter: str


@operation("letters.find")
def find_letters(call: Call, params: LetterParams) -> LetterResult:
    """Find the catalogues whose names begin with a letter."""
    begun = (one.name for one in call.catalogues if one.name.startswith(params.letter))
    return LetterResult(catalogues=tuple(begun), letter=params.letter)


if __name__ == "__main__":
    tools.GENERIC_OPERATIONS += (find_letters,)
    main()
