"""The files of deploy/prometheus and the page about them: valid, and about measures that a server
has.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stackroom.assembly import server_health
from stackroom.serve.http import metrics, server
from support.pages import ROOT

pytestmark = pytest.mark.row("T8")

FOLDER = ROOT / "deploy" / "prometheus"
NAME = re.compile(r"\bstackroom_([a-z_]+)")
ENDINGS = ("_bucket", "_total", "_info")


def known_names() -> set[str]:
    """Return the measures that the code writes, without the ending of a counter."""
    sources = [
        Path(module.__file__ or "").read_text(encoding="utf-8")
        for module in (server_health, server)
    ]
    read = [name for source in sources for name in re.findall(r'Reading\(\s*"([a-z_]+)"', source)]
    own = NAME.findall(Path(metrics.__file__).read_text(encoding="utf-8"))
    return {plain(name) for name in (*read, *own) if name}


def plain(name: str) -> str:
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def promtool(*arguments: str) -> str:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_prometheus_takes_the_configuration() -> None:
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", "scrape.yml")


def test_the_alerts_are_valid_and_fire_when_they_should() -> None:
    assert "SUCCESS" in promtool("check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")


@pytest.mark.parametrize("file", ["alerts.yml", "alerts_test.yml", "dashboard.json"])
def test_every_measure_that_a_file_names_is_one_that_a_server_has(file: str) -> None:
    named = {plain(name) for name in NAME.findall((FOLDER / file).read_text(encoding="utf-8"))}
    assert named
    assert named <= known_names()


def test_the_dashboard_has_panels_that_do_not_overlap() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels) == 15


def test_the_page_says_what_each_measure_is() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    named = {plain(name) for name in re.findall(r"`([a-z_]+)(?:\{[a-z_,]+\})?`", page)}
    assert known_names() <= named
