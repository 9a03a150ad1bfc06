"""`docs/share.md`: the commands that are typed as the server's user work in the order of the
page.
"""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.libraries import MODEL_CACHE
from support.processes import ServerProcess, wait_until
from support.terminals import Run

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "share.md"
HOME = "/var/lib/stackroom"


def iter_commands(prompt: str) -> Iterator[str]:
    """Yield the commands of the page after a prompt, in order, without those for containers."""
    text = PAGE.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines() if language in ("", "console") else ():
            if line.startswith(prompt) and "podman" not in line:
                yield line.removeprefix(prompt)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library of the page, empty; the models are elsewhere, as in the container."""
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "library"))
    monkeypatch.setenv("STACKROOM_MODELS", str(MODEL_CACHE))
    (tmp_path / "wines.csv").write_text(
        "name,country,price\nAssyrtiko,Greece,19\nBarolo,Italy,44\n", encoding="utf-8"
    )
    return tmp_path / "library"


@pytest.mark.model
@pytest.mark.usefixtures("models_folder")
def test_the_commands_of_the_first_day_work_in_order_and_the_backup_is_healthy_when_restored(
    home: Path,
    tmp_path: Path,
    run: Run,
    start_server: Callable[..., ServerProcess],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = list(iter_commands("$ stackroom "))
    served = commands.index("job trigger backup")
    for command in commands[:served]:
        done = run(shlex.split(command.replace("/srv/tables", str(tmp_path))))
        assert done.code == 0, f"{command}: {done.out}{done.err}"
    server = start_server(home)
    assert run(shlex.split(commands[served])).code == 0
    wait_until(lambda: "done" in run("job history backup").out, timeout_s=120)
    for command in commands[served + 1 :]:
        done = run(shlex.split(command))
        assert done.code == 0, f"{command}: {done.out}{done.err}"
    server.stop()
    (backup, *_others) = sorted((home / "backups").iterdir())
    shutil.copytree(backup, tmp_path / "restored")
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "restored"))
    for command in ("job run integrity_check", "doctor"):
        assert any(
            row.endswith(command)
            for row in iter_commands("# sudo -u stackroom STACKROOM_HOME=/srv/restored ")
        )
        done = run(shlex.split(command))
        assert done.code == 0, f"{command}: {done.out}{done.err}"


def test_the_page_names_files_that_exist_and_options_of_the_service_that_are_set() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"\]\(\.\./([^)#]+)\)", text):
        assert (ROOT / name).is_file(), name
    unit = (ROOT / "deploy" / "stackroom.service").read_text(encoding="utf-8")
    assert f"STACKROOM_HOME={HOME}" in unit
    assert "/opt/stackroom/bin/stackroom serve --http" in unit
    settings = re.findall(
        r"^#   (.*)$", (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert settings == re.findall(
        r"^#   (.*)$", (ROOT / "deploy" / "nginx.conf").read_text(), re.MULTILINE
    )
    assert all(line in text for line in settings)


def test_the_service_has_no_privileges_and_few_system_calls() -> None:
    unit = (ROOT / "deploy" / "stackroom.service").read_text(encoding="utf-8").splitlines()
    # `systemd-analyze security --offline=true` calls this an exposure of 1.5 of 10.
    wanted = [
        "CapabilityBoundingSet=",
        "SystemCallFilter=@system-service",
        "RestrictNamespaces=yes",
        "MemoryMax=80%",
    ]
    assert [one for one in wanted if one not in unit] == []
    assert sum(line.startswith("Protect") for line in unit) >= 9
