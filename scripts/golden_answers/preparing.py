"""The library that is asked: the samples of `stackroom init`, and a table that can be edited."""

import os
import shutil
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TABLES = ("wines.csv", "survey.csv")


def prepare(stackroom: Path, home: Path) -> None:
    """Make the library, unless it is there."""
    if (home / "catalogues" / "wines").exists():
        return
    tables = home / "tables"
    tables.mkdir(parents=True, mode=0o700, exist_ok=True)
    for name in TABLES:
        shutil.copy(EXAMPLES / name, tables)
    environment = {**os.environ, "STACKROOM_HOME": str(home), "OPENBLAS_NUM_THREADS": "1"}
    for arguments in (
        ["init"],
        ["add", str(tables / "wines.csv"), "--yes"],
        ["describe", "wines", "--title", "Wines of the cellar", "--editable"],
    ):
        subprocess.run(
            [str(stackroom), *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
        )
