"""For the tests of catalogue packages: a library with the sample data of one, to be called as
assistants call it.
"""

from pathlib import Path

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.errors import InputError
from stackroom.python.library import Library
from stackroom.settings import Settings


def open_sample(name: str, home: Path) -> Library:
    """Return a library in an empty folder with the sample data of this name, found by words; refuse
    rejected rows.
    """
    app = App(Settings(home=home))
    report = add_sample(app, name, progress=lambda _report: None, embed=False)
    if report.rejected or report.dangling:
        app.close()
        problem = (
            f"'{name}': {report.rejected} rows rejected, {report.dangling} ids of no"
            f" record{report.first_reason}"
        )
        raise InputError(problem)
    return Library(app)
