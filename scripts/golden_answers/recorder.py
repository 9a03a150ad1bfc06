"""Where a recording is made: a copy of the library, servers on it, and calls with their answers."""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_answers.clients import PATIENCE_S, Http, Mcp
from golden_answers.masks import Mask, shape
from golden_answers.questions import Ask

HEADERS = (
    "content-type",
    "content-disposition",
    "cache-control",
    "content-range",
    "accept-ranges",
    "etag",
    "allow",
    "www-authenticate",
    "location",
    "vary",
    "stackroom-flagged",
    "stackroom-notes",
)
"""The headers that are recorded; of `retry-after` and `set-cookie` only that they are there."""
WRITTEN_AT = "docProps/core.xml"  # of a spreadsheet: when it was written
LEFT_OUT = ("STACKROOM_", "RAG_", "PYTHON")
SHAPED = "only the form is compared"


@dataclass
class Recorder:
    """The calls of one stage, in order."""

    stage: str
    mask: Mask
    lines: list[dict[str, Any]] = field(default_factory=list)

    def note(
        self,
        surface: str,
        who: str,
        name: str,
        arguments: Any,
        answer: Any,
        *,
        by_form: bool = False,
    ) -> None:
        """Note a call with its answer; `by_form` where that is made by chance or by the machine."""
        shown = {SHAPED: shape(answer)} if by_form else answer
        call = {
            "stage": self.stage,
            "surface": surface,
            "as": who,
            "name": name,
            "arguments": arguments,
        }
        self.lines.append({**self.mask.apply(call), "answer": self.mask.apply(shown)})

    def attempt(self, scene: Callable[..., None], served: Any) -> None:
        """Record a scene; where it cannot go on, that is noted as a call, and compared."""
        try:
            scene(self, served)
        except Exception as error:  # whatever another version may answer
            told = f"{type(error).__name__}: {error}"
            print(f"  {self.stage}: {scene.__name__} ended with {told}", flush=True)
            self.note("scene", "", scene.__name__, {}, {"ended with": told})

    def ask(self, mcp: Mcp, who: str, ask: Ask, *, by_form: bool = False) -> dict[str, Any]:
        """Call a tool over MCP, follow its pages, note each; return the last structured answer."""

        def call(arguments: dict[str, Any]) -> dict[str, Any]:
            answer = mcp.ask("tools/call", {"name": ask.tool, "arguments": arguments})
            self.note(mcp.surface, who, ask.tool, arguments, answer, by_form=by_form)
            return answer.get("result", {}).get("structuredContent") or {}

        return _follow(ask, call)

    def ask_rest(self, http: Http, who: str, ask: Ask, *, by_form: bool = False) -> dict[str, Any]:
        """Call a tool over REST, follow its pages, and note each; return the last body."""

        def call(arguments: dict[str, Any]) -> dict[str, Any]:
            answer = http_answer(*http.request("POST", f"/v1/tools/{ask.tool}", body=arguments))
            self.note("rest", who, ask.tool, arguments, answer, by_form=by_form)
            return answer["body"] if isinstance(answer["body"], dict) else {}

        return _follow(ask, call)

    def request(
        self,
        http: Http,
        who: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        by_form: bool = False,
    ) -> Any:
        """Make a request and note it; return the body, read where it is JSON."""
        status, replied, content = http.request(method, path, body=body, headers=headers)
        answer = http_answer(status, replied, content)
        shown = f"{len(body)} bytes" if isinstance(body, bytes) else body
        told = {"body": shown} if headers is None else {"body": shown, "headers": dict(headers)}
        self.note("rest", who, f"{method} {path}", told, answer, by_form=by_form)
        return answer["body"]


def _follow(ask: Ask, call: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Make a call, and those of its further pages; return the last answer."""
    answer = call(ask.arguments)
    for page in range(1, ask.pages):
        if answer.get("cursor"):
            answer = call({**ask.arguments, "cursor": answer["cursor"]})
        elif answer.get("has_more"):
            answer = call({**ask.arguments, "offset": page * ask.arguments["limit"]})
    return answer


def http_answer(status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
    """Return what is recorded of an answer in HTTP."""
    shown = {name: headers[name] for name in HEADERS if name in headers}
    if "allow" in shown:
        shown["allow"] = ", ".join(sorted(shown["allow"].split(", ")))  # it comes in any order
    shown |= {name: "<is there>" for name in ("retry-after", "set-cookie") if name in headers}
    return {
        "status": status,
        "headers": shown,
        "body": body_of(headers.get("content-type", ""), content),
    }


def body_of(media_type: str, content: bytes) -> Any:
    """Return a body as it is recorded: read JSON, text, or checksums of bytes or files in them."""
    with contextlib.suppress(ValueError):
        if "json" in media_type or media_type.startswith("text/"):
            text = content.decode()
            return json.loads(text) if "json" in media_type and "\n{" not in text else text
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                name: sum_of(archive.read(name))
                for name in archive.namelist()
                if name != WRITTEN_AT
            }
    return sum_of(content)


def sum_of(content: bytes) -> str:
    """Return what stands for bytes."""
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:40]}"


class World:
    """A copy of the library in a folder of its own, with the environment of its commands."""

    def __init__(self, stackroom: Path, prepared: Path, folder: Path) -> None:
        self.stackroom, self.folder, self.home = stackroom, folder, folder / "home"
        self.tables = prepared / "tables"
        shutil.copytree(prepared, self.home, symlinks=True, ignore=shutil.ignore_patterns("models"))
        self.home.chmod(0o700)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        self.environment = {
            **kept,
            "STACKROOM_HOME": str(self.home),
            "STACKROOM_MODELS": str(prepared / "models"),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPYCACHEPREFIX": str(folder.parent / "compiled"),
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }

    def run(
        self, *arguments: str, given: str = "", timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of `stackroom` to its end."""
        return subprocess.run(
            [str(self.stackroom), *arguments],
            env=self.environment,
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    @contextlib.contextmanager
    def serve(self, *options: str) -> Iterator[int]:
        """Serve over HTTP on a free port, which is returned once every model is loaded."""
        port = free_port()
        command = [str(self.stackroom), "serve", "--http", "--port", str(port), *options]
        with (self.folder / f"serve-{port}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            try:
                wait_until(lambda: _is_ready(port, process), "the server to be ready")
                yield port
            finally:
                process.terminate()
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()


def _is_ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise ConnectionError(f"the server has ended with {process.returncode}")
    try:
        return Http(port).request("GET", "/health/ready")[0] == 200
    except OSError:
        return False


def wait_until(is_so: Any, what: str, patience_s: float = PATIENCE_S) -> Any:
    """Wait until something is so, and return it."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"waited {patience_s:.0f} s for {what}")


WARM_UP = (("search_anime", "giant robots in space"), ("search_papers", "waves of light"))


def warm_up(call: Any) -> None:
    """Wait until searches use vectors: `call` asks a tool and returns its structured content."""
    for tool, query in WARM_UP:
        wait_until(
            lambda tool=tool, query=query: _is_warm(call(tool, {"query": query})),
            f"the model of {tool}",
        )


def _is_warm(content: Mapping[str, Any]) -> bool:
    return content.get("searchMode") == "hybrid" and not content.get("degraded")


def free_port() -> int:
    """Return a port that nobody uses at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def find_version(stackroom: Path, environment: Mapping[str, str]) -> str:
    """Return the version that is recorded."""
    told = subprocess.run(
        [str(stackroom), "--version"],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"\d+\.\d+\S*", told.stdout)
    return found[0] if found else ""


def all_pages(mcp: Mcp, method: str) -> list[dict[str, Any]]:
    """Return the answers of a list, page after page."""
    answers = [mcp.ask(method)]
    while cursor := answers[-1].get("result", {}).get("nextCursor"):
        answers.append(mcp.ask(method, {"cursor": cursor}))
    return answers
