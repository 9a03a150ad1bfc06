"""`docs/reference/shared-server.md`: the commands about users, roles and catalogues work in the
order of the page.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "shared-server.md"
Run = Callable[..., Any]


def test_the_commands_about_users_work_as_typed_in_order(tmp_path: Path, run: Run) -> None:
    (tmp_path / "rows.csv").write_text("title,year\nStalker,1979\nSolaris,1972\n", encoding="utf-8")
    for name in ("anime", "handbook"):
        assert (
            run(["add", str(tmp_path / "rows.csv"), "--name", name, "--yes", "--no-embed"]).code
            == 0
        )
    page = PAGE.read_text("utf-8")
    (block,) = re.findall(
        r"^```console\n(\$ stackroom role add.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    commands = [line.removeprefix("$ stackroom ") for line in block.splitlines()]
    assert len(commands) >= 8
    for command in commands:
        done = run(shlex.split(command))
        assert done.code == 0, f"{command}: {done.err}"
    (bob,) = run(["user", "show", "bob", "--json"]).json["users"]
    assert (bob["permissions"], bob["hidden_catalogues"], bob["disabled"]) == (
        [],
        ["handbook"],
        True,
    )
