"""The only reader of the environment and of the configuration file; gives frozen values.

Order, later wins: defaults, `PINAKES_HOME/pinakes.toml`, environment variables, flags. Names:
`docs/reference/settings.md`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from pinakes.errors import InputError, did_you_mean

CONFIG_FILE = "pinakes.toml"
SINGLE_KEYS = {"log_level": '"INFO"', "offline": "true", "semantic_scholar_key": '"…"'}
"""The keys that stand outside any section, with an example of each."""
FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
SHELF_KINDS = ("embedded", "lance")
PROVIDERS = "downloads.providers"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOG_FORMATS = ("text", "json")
SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair; those by a shared secret would let a holder of the public key sign."""

ENDPOINT_DEFAULTS = {
    "infinity": ("http://localhost:7997", "/embeddings"),
    "ollama": ("http://localhost:11434", "/v1/embeddings"),
    "tei": ("http://localhost:8080", "/v1/embeddings"),
    "openai": ("https://api.openai.com", "/v1/embeddings"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """Which embedder is used. `kind` is `local`, or the kind of OpenAI-compatible server at `url`."""

    kind: str = "local"
    """`local`, `infinity`, `ollama`, `tei` or `openai`."""
    url: str = ""
    """Where the server is; empty: the usual address of its kind. Not used by `local`."""
    path: str = ""
    """The path of its embeddings call; empty: the usual one of its kind. Not used by `local`."""
    model: str = "all-MiniLM-L6-v2"
    """What the server calls the model. Not used by `local`, which has one model."""
    dimension: int = 384
    """How many numbers a vector of the model has. Not used by `local`."""
    api_key: str = ""
    """Sent to the server as a bearer token, where it is not empty."""
    query_prefix: str = ""
    """Put before every query. Not used by `local`."""
    document_prefix: str = ""
    """Put before every text that is stored. Not used by `local`."""
    lower_case: bool = True
    """Whether texts are sent in lower case, stored ones and queries alike. Not used by `local`."""
    timeout_s: float = 2.0
    """How many seconds a query's vector may take; a batch of texts may take 30 times as long. Not used by `local`."""
    batch_size: int = 32
    """How many texts are sent at a time. Not used by `local`."""
    folder: str = ""
    """Used by `local` only: the model's folder, where it is not in the library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """The optional cross-encoder endpoint; off while `url` is empty."""

    url: str = ""
    """The whole address of the call, such as `http://localhost:7997/rerank`; empty: off."""
    model: str = ""
    """What the server calls the model."""
    api_key: str = ""
    """Sent to the server as a bearer token, where it is not empty."""
    timeout_s: float = 0.5
    """How many seconds it may take; after that the order stays as it was."""
    depth: int = 30
    """How many of the best results it looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """`pinakes serve --http`: where it listens, and its bounds."""

    host: str = "127.0.0.1"
    """The address it listens on; anything but loopback needs accounts."""
    port: int = 8080
    """The port of everything: MCP, REST, health, metrics and the page."""
    public_url: str = ""
    """What clients call it by, such as `https://catalogue.example.org`, where a proxy stands before it."""
    allowed_hosts: tuple[str, ...] = ()
    """Further values of the `Host` header that are taken, beside loopback, `host` and that of `public_url`."""
    allowed_origins: tuple[str, ...] = ()
    """Further values of the `Origin` header that are taken, beside those of the allowed hosts."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""
    accounts: bool = True
    """Whether callers must say who they are; without, everybody on this machine is the local user."""
    cache_size: int = 100
    """How many answers are kept for the same question asked again; 0: none."""
    threads: int = 4
    """How many calls run at once."""
    queue: int = 1000
    """How many calls may wait for their turn; more are refused at once."""
    streams: int = 4000
    """How many streams (SSE, WebSocket, sessions) may be open."""
    shutdown_s: float = 5.0
    """How long calls that are being answered may go on when the server is asked to end."""
    log_format: str = "text"
    """`text` or `json`: a line a call, on standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSettings:
    """Where accounts, tokens and the audit are kept."""

    url: str = ""
    """`postgresql+psycopg://USER:PASSWORD@HOST/NAME`, or `sqlite:///PATH`; empty: `control.sqlite` in the library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """MCP over the network."""

    enabled: bool = True
    """Whether `/mcp`, `/sse` and `/v1/mcp` are there; without, only REST is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitSettings:
    """How many calls a minute a user has, over all connections; a role may have its own."""

    read_per_minute: int = 120
    """Searches, look-ups, resources, and noting that something was played."""
    write_per_minute: int = 30
    """Everything else that changes something."""
    sql_per_minute: int = 10
    """`debug.sql`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    """Bearer tokens of an external issuer (JWT); off while `issuer` is empty."""

    issuer: str = ""
    """The `iss` of its tokens, such as `https://login.example.org`; also where clients are sent to log in."""
    audience: str = ""
    """The `aud` that a token must have."""
    jwks_url: str = ""
    """Where its keys are; or `public_key_file`."""
    public_key_file: str = ""
    """A PEM file with its key."""
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    """The signatures that are taken."""
    user_claim: str = "sub"
    """The claim that names the user."""
    default_role: str = ""
    """The role of a user who is seen for the first time; empty: none, until somebody gives them one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadsSettings:
    """Where albums come from and go; providers are in `[downloads.providers]`."""

    folder: str = ""
    """The music folder that finished albums land in; empty: `music` in the library."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that may be asked although they are not public."""
    allowed_networks: tuple[str, ...] = ()
    """Networks that may be asked although they are not public, such as `10.0.0.0/8`."""
    allowed_ports: tuple[str, ...] = ()
    """Ports that may be asked beside 80 and 443."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that is configured."""

    home: Path
    """The library's folder; by default the platform's folder for a user's data."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """The section `[embedding]`."""
    rerank: RerankSettings = RerankSettings()
    """The section `[rerank]`."""
    server: ServerSettings = ServerSettings()
    """The section `[server]`."""
    control: ControlSettings = ControlSettings()
    """The section `[control]`."""
    mcp: McpSettings = McpSettings()
    """The section `[mcp]`."""
    rate_limit: RateLimitSettings = RateLimitSettings()
    """The section `[mcp.rate_limit]`."""
    auth: AuthSettings = AuthSettings()
    """The section `[auth]`."""
    downloads: DownloadsSettings = DownloadsSettings()
    """The section `[downloads]`."""
    download_providers: Mapping[str, str] = field(default_factory=dict)
    """The section `[downloads.providers]`: a name → the address of its manifests, with `{artist}` and `{album}`."""
    shelves: Mapping[str, str] = field(default_factory=dict)
    """The section `[shelves]`: a catalogue's name → the kind of shelf it is built on, `embedded` or `lance`."""
    semantic_scholar_key: str = ""
    """The key that Semantic Scholar gave you, for more requests."""
    offline: bool = False
    """Whether everything that would need the network is refused."""
    log_level: str = "INFO"
    """How much `pinakes serve` writes to standard error: `DEBUG`, `INFO`, `WARNING` or `ERROR`."""

    def shelf_of(self, name: str) -> str:
        """Return the kind of shelf that a catalogue of this name is built on."""
        return self.shelves.get(name, SHELF_KINDS[0])

    @property
    def catalogues_folder(self) -> Path:
        """Where the installed catalogues are."""
        return self.home / "catalogues"

    @property
    def models_folder(self) -> Path:
        """Where embedding models are."""
        return self.home / "models"


SectionT = TypeVar(
    "SectionT",
    EmbeddingSettings,
    RerankSettings,
    ServerSettings,
    ControlSettings,
    McpSettings,
    RateLimitSettings,
    AuthSettings,
    DownloadsSettings,
)

SECTIONS = {
    "embedding": EmbeddingSettings,
    "rerank": RerankSettings,
    "server": ServerSettings,
    "control": ControlSettings,
    "mcp": McpSettings,
    "mcp.rate_limit": RateLimitSettings,
    "auth": AuthSettings,
    "downloads": DownloadsSettings,
}
"""The sections of the file, each with its keys."""

ENVIRONMENT = {
    "PINAKES_EMBED_KIND": ("embedding", "kind"),
    "PINAKES_EMBED_URL": ("embedding", "url"),
    "PINAKES_EMBED_MODEL": ("embedding", "model"),
    "PINAKES_EMBED_DIMENSION": ("embedding", "dimension"),
    "PINAKES_EMBED_API_KEY": ("embedding", "api_key"),
    "PINAKES_EMBED_QUERY_PREFIX": ("embedding", "query_prefix"),
    "PINAKES_EMBED_DOCUMENT_PREFIX": ("embedding", "document_prefix"),
    "PINAKES_EMBED_LOWER_CASE": ("embedding", "lower_case"),
    "PINAKES_EMBED_TIMEOUT_S": ("embedding", "timeout_s"),
    "PINAKES_EMBED_FOLDER": ("embedding", "folder"),
    "PINAKES_EMBED_PATH": ("embedding", "path"),
    "PINAKES_EMBED_BATCH_SIZE": ("embedding", "batch_size"),
    "PINAKES_RERANK_URL": ("rerank", "url"),
    "PINAKES_RERANK_MODEL": ("rerank", "model"),
    "PINAKES_RERANK_API_KEY": ("rerank", "api_key"),
    "PINAKES_RERANK_TIMEOUT_S": ("rerank", "timeout_s"),
    "PINAKES_RERANK_DEPTH": ("rerank", "depth"),
    "PINAKES_HOST": ("server", "host"),
    "PORT": ("server", "port"),
    "PINAKES_PUBLIC_URL": ("server", "public_url"),
    "PINAKES_ALLOWED_HOSTS": ("server", "allowed_hosts"),
    "PINAKES_ALLOWED_ORIGINS": ("server", "allowed_origins"),
    "PINAKES_TRUSTED_PROXIES": ("server", "trusted_proxies"),
    "PINAKES_ACCOUNTS": ("server", "accounts"),
    "CACHE_SIZE": ("server", "cache_size"),
    "PINAKES_THREADS": ("server", "threads"),
    "PINAKES_QUEUE": ("server", "queue"),
    "PINAKES_STREAMS": ("server", "streams"),
    "PINAKES_SHUTDOWN_S": ("server", "shutdown_s"),
    "PINAKES_LOG_FORMAT": ("server", "log_format"),
    "PINAKES_CONTROL_URL": ("control", "url"),
    "PINAKES_MCP_ENABLED": ("mcp", "enabled"),
    "PINAKES_READ_PER_MINUTE": ("mcp.rate_limit", "read_per_minute"),
    "PINAKES_WRITE_PER_MINUTE": ("mcp.rate_limit", "write_per_minute"),
    "PINAKES_SQL_PER_MINUTE": ("mcp.rate_limit", "sql_per_minute"),
    "PINAKES_AUTH_ISSUER": ("auth", "issuer"),
    "PINAKES_AUTH_AUDIENCE": ("auth", "audience"),
    "PINAKES_AUTH_JWKS_URL": ("auth", "jwks_url"),
    "PINAKES_AUTH_PUBLIC_KEY_FILE": ("auth", "public_key_file"),
    "PINAKES_AUTH_ALGORITHMS": ("auth", "algorithms"),
    "PINAKES_AUTH_USER_CLAIM": ("auth", "user_claim"),
    "PINAKES_AUTH_DEFAULT_ROLE": ("auth", "default_role"),
    "PINAKES_MUSIC_FOLDER": ("downloads", "folder"),
    "PINAKES_DOWNLOAD_HOSTS": ("downloads", "allowed_hosts"),
    "PINAKES_DOWNLOAD_NETWORKS": ("downloads", "allowed_networks"),
    "PINAKES_DOWNLOAD_PORTS": ("downloads", "allowed_ports"),
    "LOG_LEVEL": ("", "log_level"),
    "RAG_STRICT_OFFLINE": ("", "offline"),
    "SEMANTIC_SCHOLAR_API_KEY": ("", "semantic_scholar_key"),
}
"""Environment variable → section and key; the same names work in the file."""


def load_settings(
    environment: Mapping[str, str] | None = None, *, flags: Mapping[tuple[str, str], Any] | None = None
) -> Settings:
    """Read the settings of this process; `flags` are those that its command line gave, by section and key."""
    env = os.environ if environment is None else environment
    home = Path(env.get("PINAKES_HOME") or platformdirs.user_data_dir("pinakes")).expanduser().absolute()
    values = _file_values(home / CONFIG_FILE)
    for variable, (section, key) in ENVIRONMENT.items():
        if env.get(variable):
            values.setdefault(section, {})[key] = env[variable]
    for (section, key), value in (flags or {}).items():
        values.setdefault(section, {})[key] = value
    return Settings(
        home=home,
        embedding=_embedding(_section(EmbeddingSettings(), "embedding", values)),
        rerank=_rerank(_section(RerankSettings(), "rerank", values)),
        server=_server(_section(ServerSettings(), "server", values)),
        control=_section(ControlSettings(), "control", values),
        mcp=_section(McpSettings(), "mcp", values),
        rate_limit=_rate_limit(_section(RateLimitSettings(), "mcp.rate_limit", values)),
        auth=_auth(_section(AuthSettings(), "auth", values)),
        downloads=_section(DownloadsSettings(), "downloads", values),
        download_providers=_providers(values.get(PROVIDERS, {})),
        shelves=_shelves(values.get("shelves", {})),
        semantic_scholar_key=_value("semantic_scholar_key", values.get("", {}).get("semantic_scholar_key", ""), str),
        offline=_flag("offline", values.get("", {}).get("offline", False)),
        log_level=_log_level(str(values.get("", {}).get("log_level", "INFO"))),
    )


def _file_values(path: Path) -> dict[str, dict[str, Any]]:
    """Return the file's sections; keys outside any section are under an empty name."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise InputError(f"PINAKES_HOME: {path.parent} is not a folder; the library must be one") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    known = [*(name for name in SECTIONS if "." not in name), "shelves", *SINGLE_KEYS]
    for key, value in document.items():
        if key not in known:
            raise InputError(f"{path}: unknown key '{key}'{did_you_mean(key, known)}; known: {', '.join(known)}")
        if isinstance(value, dict) is (key in SINGLE_KEYS):
            form = f"{key} = {SINGLE_KEYS[key]}" if key in SINGLE_KEYS else f"[{key}]"
            raise InputError(f"{path}: '{key}' is written {form}")
    sections = {key: dict(value) for key, value in document.items() if isinstance(value, dict)}
    for inner in [PROVIDERS, *(name for name in SECTIONS if "." in name)]:  # such as [mcp.rate_limit]
        outer, key = inner.split(".")
        if isinstance(sections.get(outer, {}).get(key), dict):
            sections[inner] = sections[outer].pop(key)
    sections[""] = {key: value for key, value in document.items() if not isinstance(value, dict)}
    return sections


def _section(default: SectionT, name: str, values: Mapping[str, Mapping[str, Any]]) -> SectionT:
    """Return the section with the given values put in, each of the type of its default."""
    known = list(default.__dataclass_fields__)
    changes: dict[str, Any] = {}
    for key, value in values.get(name, {}).items():
        if key not in known:
            raise InputError(f"unknown setting '{name}.{key}'{did_you_mean(key, known)}; known: {', '.join(known)}")
        changes[key] = _value(f"{name}.{key}", value, type(getattr(default, key)))
    return replace(default, **changes)


def _value(name: str, value: Any, wanted: type) -> Any:
    """Return a value as what its setting is; a list may be written with commas."""
    if wanted is bool:
        return _flag(name, value)
    if wanted is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(type(part) in (str, int) for part in parts):
            raise InputError(f"setting '{name}': {value!r} is not a list of texts")
        return tuple(str(part).strip() for part in parts if str(part).strip())
    if wanted is str:
        if not isinstance(value, str):
            raise InputError(f"setting '{name}': {value!r} is not a text; write one in quotes")
        return value
    if type(value) not in (str, int, float) or not _is_readable(value, wanted):
        raise InputError(f"setting '{name}': {value!r} is not {wanted.__name__}")
    return wanted(value)


def _is_readable(value: str | float, wanted: type) -> bool:
    """Tell whether a value is what its setting is, without loss; nan is no number."""
    try:
        return bool(wanted(value) == float(value))
    except (ValueError, OverflowError):
        return False


def _server(settings: ServerSettings) -> ServerSettings:
    if not 0 <= settings.port <= 65_535:
        raise InputError(f"setting 'server.port': {settings.port} is not between 0 and 65535")
    if settings.log_format not in LOG_FORMATS:
        raise InputError(f"setting 'server.log_format': no '{settings.log_format}'; known: {', '.join(LOG_FORMATS)}")
    if settings.public_url and not settings.public_url.startswith(("http://", "https://")):
        raise InputError(
            f"setting 'server.public_url': {settings.public_url!r} does not begin with http:// or https://"
        )
    _require_at_least("server", settings, cache_size=0, threads=1, queue=1, streams=1, shutdown_s=0)
    return replace(settings, public_url=settings.public_url.rstrip("/"))


def _rate_limit(settings: RateLimitSettings) -> RateLimitSettings:
    _require_at_least("mcp.rate_limit", settings, **dict.fromkeys(RateLimitSettings.__dataclass_fields__, 0))
    return settings


def _rerank(settings: RerankSettings) -> RerankSettings:
    _require_at_least("rerank", settings, timeout_s=0, depth=0)
    return settings


def _require_at_least(section: str, settings: object, **least: float) -> None:
    for key, bound in least.items():
        if getattr(settings, key) < bound:
            raise InputError(f"setting '{section}.{key}': {getattr(settings, key)} is less than {bound}")


def _auth(settings: AuthSettings) -> AuthSettings:
    if not settings.issuer:
        return settings
    if not settings.audience:
        raise InputError("setting 'auth.audience' is missing: a token must be meant for this server")
    if bool(settings.jwks_url) is bool(settings.public_key_file):
        raise InputError("setting 'auth': an issuer needs either 'jwks_url' or 'public_key_file'")
    unknown = [name for name in settings.algorithms if name not in SIGNATURES]
    if unknown:
        raise InputError(f"setting 'auth.algorithms': no '{unknown[0]}'; known: {', '.join(SIGNATURES)}")
    return settings


def _providers(values: Mapping[str, Any]) -> dict[str, str]:
    for name, manifest in values.items():
        if not isinstance(manifest, str) or not manifest.startswith(("http://", "https://")):
            raise InputError(f"setting '{PROVIDERS}.{name}': {manifest!r} is not an address of http:// or https://")
    return dict(values)


def _shelves(values: Mapping[str, Any]) -> dict[str, str]:
    for name, kind in values.items():
        if kind not in SHELF_KINDS:
            raise InputError(f"setting 'shelves.{name}': no shelf '{kind}'; known: {', '.join(SHELF_KINDS)}")
    return dict(values)


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in FLAGS:
        raise InputError(f"setting '{name}': {value!r} is not one of {', '.join(FLAGS)}")
    return FLAGS[str(value).lower()]


def _log_level(name: str) -> str:
    if name.upper() not in LOG_LEVELS:
        raise InputError(f"setting 'log_level': no '{name}'; known: {', '.join(LOG_LEVELS)}")
    return name.upper()


def _embedding(settings: EmbeddingSettings) -> EmbeddingSettings:
    """Fill in the address of a known kind of server."""
    _require_at_least("embedding", settings, dimension=1, timeout_s=0, batch_size=1)
    if settings.kind == "local":
        return settings
    known = ["local", *ENDPOINT_DEFAULTS]
    if settings.kind not in known:
        raise InputError(
            f"setting 'embedding.kind': no '{settings.kind}'{did_you_mean(settings.kind, known)}; "
            f"known: {', '.join(known)}"
        )
    url, path = ENDPOINT_DEFAULTS[settings.kind]
    return replace(settings, url=(settings.url or url).rstrip("/"), path=settings.path or path)
