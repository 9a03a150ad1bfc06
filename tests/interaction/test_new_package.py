"""`docs/write-a-catalogue.md`, followed: a package outside the repository, installed into a fresh
environment.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.launching import run

REPO = Path(__file__).parents[2]
PAGE = REPO / "docs" / "write-a-catalogue.md"
SERVING = re.compile(r"serving at (http://[^ ;]+)")

pytestmark = [pytest.mark.row("N11"), pytest.mark.row("N1"), pytest.mark.timeout(600)]


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """A fresh environment that has what this one has, and nothing else of ours; commands are run in
    one folder.
    """

    folder: Path
    environment: dict[str, str]

    def start(self, command: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            shlex.split(command), cwd=self.folder, env=self.environment, text=True, **options
        )

    def run(self, command: str) -> str:
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, f"{command}: {out}{err}"
        return out


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    folder = tmp_path_factory.mktemp("bench")
    venv.EnvBuilder().create(folder / "venv")
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    known = (REPO / "src", sysconfig.get_path("purelib"))
    (packages / "known.pth").write_text("".join(f"{path}\n" for path in known))
    programs = folder / "venv" / "bin"
    for name in ("pip", "stackroom"):
        (programs / name).write_text(f'#!/bin/sh\nexec {programs / "python"} -m {name} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "STACKROOM"))
        },
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "STACKROOM_HOME": str(folder / "home"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        # which is how pip is told by a variable to use what is installed
        "PIP_NO_BUILD_ISOLATION": "false",
    }
    return Workbench(folder=folder, environment=environment)


@pytest.fixture(scope="module")
def outputs(workbench: Workbench) -> dict[str, str]:
    """What every command of the page prints that ends by itself; those that serve are left out."""
    commands = re.findall(r"^\$ (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        command: workbench.run(command) for command in commands if "stackroom serve" not in command
    }


def test_the_package_installs_builds_passes_its_own_test_and_runs_its_job(
    outputs: dict[str, str],
) -> None:
    assert "Harbour lantern" in outputs["stackroom search workshop lantern"]
    assert (
        "5 rows: 5 written"
        in outputs["stackroom add workshop/workshop/sample.jsonl --as workshop --no-embed"]
    )
    assert "2 passed" in outputs["python -m pytest -q workshop/tests"]
    assert "workshop_check_sources" in outputs["stackroom job list"]
    assert "sample.jsonl: found" in outputs["stackroom job run workshop_check_sources"]


@pytest.mark.usefixtures("outputs")
def test_its_tool_is_called_over_stdio(workbench: Workbench) -> None:
    with serving(
        workbench, "stackroom serve workshop", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        call = {"name": "workshop_by_maker", "arguments": {"maker": "Ada Lnd"}}
        messages = (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
            {"id": 3, "method": "tools/call", "params": call},
        )
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
        answers = {
            one["id"]: one for one in (json.loads(server.stdout.readline()) for _ in range(3))
        }
    names = [tool["name"] for tool in answers[2]["result"]["tools"]]
    assert {"workshop_by_maker", "search", "fetch", "similar", "browse"} <= set(names)
    found = answers[3]["result"]["structuredContent"]
    assert (found["maker"], found["items"]) == ("Ada Lind", ["Harbour lantern", "Reading lamp"])


@pytest.mark.usefixtures("outputs")
def test_its_endpoint_answers_and_is_in_the_openapi_document(workbench: Workbench) -> None:
    command = "stackroom serve workshop --http --no-accounts --port 0"
    with serving(workbench, command, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        url = next(found[1] for line in server.stderr if (found := SERVING.search(line)))
        answer = httpx.get(f"{url}/v1/workshop/makers/Bruno%20Costa/items")
        assert (answer.status_code, answer.json()) == (
            200,
            {
                "catalogue": "workshop",
                "maker": "Bruno Costa",
                "items": ["Oak bench", "Reading lamp"],
            },
        )
        assert httpx.get(f"{url}/v1/workshop/makers/Nobody%20Known/items").status_code == 404
        assert (
            "/v1/workshop/makers/{maker}/items" in httpx.get(f"{url}/openapi.json").json()["paths"]
        )


@contextlib.contextmanager
def serving(workbench: Workbench, command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = workbench.start(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    refused = run("new", "workshop", "--output", str(tmp_path), environment=os.environ)
    assert refused.returncode == 2
    assert "the folder is not empty; choose another --output" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
