"""A shared server with accounts: its settings, users, tokens, restrictions, and clients of each."""

import hashlib
import http.server
import io
import json
import threading
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from golden_answers.clients import MODERN, Http, Mcp, Sse, StreamableHttp, WebSocket
from golden_answers.recorder import Recorder, World, warm_up

PASSWORD = "golden-correct-horse"
SETTINGS = """
[mcp.rate_limit]
read_per_minute = 100000
write_per_minute = 100000
sql_per_minute = 100000

[downloads]
folder = "{folder}"
allowed_networks = ["127.0.0.1/32"]
allowed_ports = [{port}]

[downloads.providers]
label = "http://127.0.0.1:{port}/{{album}}.json"
"""
USERS: dict[str, dict[str, Any]] = {
    "rita": {"role": ["user"]},
    "eddie": {"role": ["editor"]},
    "gus": {"role": ["agent"]},
    "anna": {"role": ["user"], "permissions": ["ViewAnalytics"]},
    "mona": {"role": ["user"], "permissions": ["ManagePermissions"]},
    "lim": {"role": ["slow"]},
    "stan": {"role": ["staff"]},
    "sue": {"role": ["none"], "permissions": ["ServerAdmin"]},
    "nobody": {"role": ["none"]},
    "polly": {"role": ["user"], "permissions": ["ServerAdmin", "ViewAnalytics"]},
}
"""The users besides `ada`, each with a token of the same name; `polly` asks while others wait."""
ROLES: tuple[dict[str, Any], ...] = (
    {
        "name": "slow",
        "permissions": ["AccessCatalog", "EditCatalog"],
        "quotas": {"read": 3, "write": 1, "sql": 0},
    },
    {"name": "staff", "permissions": ["AccessCatalog"], "catalogues": ["personal", "wines"]},
)
TOKENS: dict[str, dict[str, Any]] = {
    "ada of anime": {"catalogues": ["anime"]},
    "ada who reads": {"scopes": ["AccessCatalog"]},
    "rita of wines": {"catalogues": ["wines"]},
}
CLIENTS: dict[str, Callable[[int, str], Any]] = {
    "rest": Http,
    "http": StreamableHttp,
    "http-2026": lambda port, secret: StreamableHttp(port, secret, MODERN),
    "websocket": WebSocket,
    "sse": Sse,
}
STRANGER, LIAR = "nobody known", "a wrong token"
CALLERS = ("ada", *USERS, *TOKENS, STRANGER, LIAR)


@dataclass
class Served:
    """A running server, and who may ask it."""

    world: World
    port: int
    secrets: dict[str, str]
    provider: str
    _open: dict[tuple[str, str], Any] = field(default_factory=dict)

    def rest(self, who: str) -> Http:
        """Return a client of REST for a caller."""
        return self._client(who, "rest")

    def mcp(self, who: str, surface: str = "http") -> Mcp:
        """Return a client of MCP for a caller."""
        return self._client(who, surface)

    def _client(self, who: str, surface: str) -> Any:
        if (who, surface) not in self._open:
            self._open[who, surface] = CLIENTS[surface](self.port, self.secrets.get(who, ""))
        return self._open[who, surface]

    def close(self) -> None:
        """Let go of every client."""
        for client in self._open.values():
            client.close()


@contextmanager
def serving(recorder: Recorder, world: World) -> Iterator[Served]:
    """Serve a library with accounts; all but the first are added over REST."""
    with albums() as provider:
        text = SETTINGS.format(folder=world.folder / "Music", port=provider)
        (world.home / "stackroom.toml").write_text(text, encoding="utf-8")
        added = world.run(
            "user", "add", "ada", "--role", "admin", "--password-stdin", given=PASSWORD
        )
        made = world.run("token", "add", "ada", "--user", "ada")
        recorder.mask.learn(str(provider), "PROVIDER")
        with world.serve() as port:
            recorder.mask.learn(str(port), "PORT")
            served = Served(
                world, port, {"ada": made.stdout.strip()}, f"http://127.0.0.1:{provider}"
            )
            ask = served.rest("ada").request
            warm_up(
                lambda tool, arguments: json.loads(
                    ask("POST", f"/v1/tools/{tool}", body=arguments)[2]
                )
            )
            recorder.note(
                "terminal", "local", "user add", {}, {"out": added.stdout, "err": added.stderr}
            )
            add_accounts(recorder, served)
            try:
                yield served
            finally:
                served.close()


def add_accounts(recorder: Recorder, served: Served) -> None:
    """Add roles, users, tokens and a restriction, and keep the secret of each caller."""

    def done(method: str, path: str, body: Any) -> Any:
        return recorder.request(served.rest("ada"), "ada", method, path, body)

    for role in ROLES:
        done("POST", "/v1/roles", role)
    for name, given in USERS.items():
        done("POST", "/v1/users", {"name": name, "password": PASSWORD, **given})
    done("PUT", "/v1/access/personal", {"users": ["eddie"], "roles": ["staff"]})
    for name, given in ({name: {} for name in USERS} | TOKENS).items():
        login = {"name": name.split(" ")[0], "password": PASSWORD}
        begun = json.loads(served.rest(STRANGER).request("POST", "/v1/login", body=login)[2])
        served.secrets[name] = _new_token(served.port, begun["token"], {"name": name, **given})
    served.secrets[LIAR] = "stk_t_0000000000000000000000000000000000000000000"


def _new_token(port: int, secret: str, body: dict[str, Any]) -> str:
    client = Http(port, secret)
    made = json.loads(client.request("POST", "/v1/tokens", body=body)[2])
    client.close()
    return str(made["token"])


@contextmanager
def albums() -> Iterator[int]:
    """Serve an album that can be downloaded, at a port that is returned."""
    sounds = {f"/{number}.wav": _sound(number) for number in (1, 2)}
    listed = [
        {
            "url": path,
            "name": f"0{number} Golden {number}.wav",
            "size": len(sound),
            "sha256": hashlib.sha256(sound).hexdigest(),
        }
        for number, (path, sound) in enumerate(sounds.items(), 1)
    ]
    manifest = {"artist": "Golden Artist", "album": "Golden Album", "files": listed}
    files = {**sounds, "/Golden%20Album.json": json.dumps(manifest).encode()}

    class Answer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = files.get(self.path)
            self.send_response(404 if found is None else 200)
            self.send_header(
                "Content-Type", "application/json" if self.path.endswith("json") else "audio/wav"
            )
            self.send_header("Content-Length", str(len(found or b"")))
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _sound(number: int) -> bytes:
    held = io.BytesIO()
    with wave.open(held, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes([number, 0]) * 8000)
    return held.getvalue()
