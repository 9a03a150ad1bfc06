"""What a deployment is promised: how many it holds, and how it is set up."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.channels import open_channel
from support.processes import PATIENCE_S

REPO = Path(__file__).resolve().parents[2]
STREAMS = 50


@pytest.mark.row("T11")
@pytest.mark.row("T6")
def test_fifty_sse_connections_at_once_are_each_answered(
    start_server: Callable[..., Any], whole_home: Path
) -> None:
    server = start_server(whole_home, "--no-accounts")
    together = threading.Barrier(STREAMS)

    def talk(number: int) -> bool:
        call = {
            "name": "search_documents",
            "arguments": {"query": f"how do we review code {number}"},
        }
        with closing(open_channel("sse", server.port, "")) as channel:
            together.wait(PATIENCE_S)
            return channel.ask("tools/call", call)["result"]["isError"] is False

    with ThreadPoolExecutor(STREAMS) as pool:
        answered = list(pool.map(talk, range(STREAMS)))
    server.stop()
    assert answered == [True] * STREAMS


@pytest.mark.row("T11")
def test_the_cloud_run_file_has_the_seed_s_settings() -> None:
    text = (REPO / "deploy" / "cloud-run.yaml").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^ *(?:[\w.]+/)?(\w[\w-]+): \"?([\d.]+)\"?$", text, re.MULTILINE))
    wanted = {
        "minScale": "0",
        "maxScale": "3",
        "scaling-cpu-target": "0.8",
        "containerConcurrency": "80",
    }
    assert {key: settings.get(key) for key in wanted} == wanted


@pytest.mark.row("T11")
def test_the_container_installs_by_hash_serves_over_http_and_is_not_root() -> None:
    text = (REPO / "Containerfile").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements-server.lock" in text
    assert re.search(r"^USER (?!root)\w+$", text, re.MULTILINE)
    assert '"serve", "--http"' in text
