"""What a command loads before it does anything."""

import subprocess
import sys

MOST_LOADED_BY_ADD = 150

LOADED_BY_HELP = """
import sys
from stackroom.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
own = [name for name in sys.modules if name.startswith("stackroom")]
print([name for name in ("numpy", "pydantic", "apsw", "tantivy") if name in sys.modules], len(own) <= 10)
"""


def test_help_lists_the_commands_of_packages_and_loads_neither_them_nor_the_engine() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_HELP], check=True, capture_output=True, text=True)
    assert "stackroom_catalogues.papers" in done.stdout
    assert done.stdout.splitlines()[-1] == "[] True"


LOADED_BY_ADD = """
import sys
import stackroom.cli.add
own = [name for name in sys.modules if name.partition(".")[0] in ("stackroom", "stackroom_catalogues")]
print(len(own), *(name for name in own if name.startswith(("stackroom.tools", "stackroom.recommend"))))
"""


def test_adding_a_table_loads_few_modules_and_no_tools() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_ADD], check=True, capture_output=True, text=True)
    count, *tools = done.stdout.split()
    assert int(count) <= MOST_LOADED_BY_ADD
    assert tools == []


LOADED_BY_TOOLS = """
import sys
import stackroom_catalogues.documents.tools
print([name for name in sys.modules if name.startswith(("stackroom.ingest.pipeline", "stackroom.sources.folder"))])
"""


def test_serving_documents_loads_nothing_that_reads_files() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_TOOLS], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
