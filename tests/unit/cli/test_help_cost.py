"""What a command loads before it does anything."""

import subprocess
import sys

import pytest

LOADED_BY_HELP = """
import sys
from stackroom.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
own = [name for name in sys.modules if name.startswith("stackroom")]
heavy = [name for name in ("numpy", "pydantic", "apsw", "tantivy") if name in sys.modules]
print(heavy, len(own) <= 10)
"""


def test_help_lists_the_commands_of_packages_and_loads_neither_them_nor_the_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_HELP], check=True, capture_output=True, text=True
    )
    assert "stackroom_catalogues.papers" in done.stdout
    assert done.stdout.splitlines()[-1] == "[] True"


LOADED = """
import sys
import {module}
packages = ("stackroom", "stackroom_catalogues")
own = [name for name in sys.modules if name.partition(".")[0] in packages]
print(len(own), *(name for name in own if name.startswith({unwanted})))
"""


@pytest.mark.parametrize(
    ("module", "most", "unwanted"),
    [
        ("stackroom.cli.add", 150, ("stackroom.tools", "stackroom.recommend")),
        (
            "stackroom_catalogues.documents.tools",
            130,
            ("stackroom.ingest.pipeline", "stackroom.sources.folder"),
        ),
    ],
)
def test_adding_a_table_loads_no_tools_and_serving_documents_nothing_that_reads_files(
    module: str, most: int, unwanted: tuple[str, ...]
) -> None:
    code = LOADED.format(module=module, unwanted=unwanted)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    count, *loaded = done.stdout.split()
    assert (int(count) <= most, loaded) == (True, [])
