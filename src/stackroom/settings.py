"""Settings from the configuration file and the environment, which nothing else reads, as frozen
values.

Order, later wins: defaults, `STACKROOM_HOME/stackroom.toml`, environment variables, flags. Names:
`docs/reference/settings.md`.

A catalogue package may have a section of its own: it declares a `SettingsSection`, names it in the
entry point group `stackroom.settings` (name of the section, or of a key outside any section = the
class) and reads it with `read_section`.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import platformdirs
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import ErrorDetails, ValidationError

from stackroom.errors import InputError, did_you_mean
from stackroom.toml_text import TomlError, parse_toml

CONFIG_FILE = "stackroom.toml"
CONTROL_FILE = "control.sqlite"
LOCAL_FILE = "local-user.sqlite"  # the storage of the local user, where there are no accounts
PACKAGE_SECTIONS = "stackroom.settings"
"""The entry point group in which packages name their sections."""

HUB_URL = "https://huggingface.co"
ENDPOINT_DEFAULTS = {
    "infinity": ("http://localhost:7997", "/embeddings"),
    "ollama": ("http://localhost:11434", "/v1/embeddings"),
    "tei": ("http://localhost:8080", "/v1/embeddings"),
    "openai": ("https://api.openai.com", "/v1/embeddings"),
}


def setting(
    default: Any, variable: str, *, ge: float | None = None, le: float | None = None
) -> Any:
    """Declare a setting with its default, its environment variable and its bounds."""
    return Field(default, json_schema_extra={"variable": variable}, ge=ge, le=le)


def _refuse_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return value


def split_list(value: Any) -> Any:
    """Return the parts of a list that is written with commas, as in environment variables."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(type(part) in (str, int) for part in parts):
        raise ValueError("is not a list of texts; such as ['a', 'b']")
    return tuple(str(part).strip() for part in parts if str(part).strip())


def require_http(address: str) -> str:
    """Refuse an address of another scheme than HTTP."""
    if not address.startswith(("http://", "https://")):
        raise ValueError("does not begin with http:// or https://")
    return address


def require_origin(address: str) -> str:
    """Refuse anything but the scheme, host and port (`*`: any) of a web server: it becomes part of
    a header.
    """
    if not re.fullmatch(
        r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:([0-9]{1,5}|\*))?/?", address
    ):
        raise ValueError("is not a scheme, a host and a port, such as https://models.example.org")
    return address.rstrip("/")


def refuse_address(path: str) -> str:
    """Refuse an address where a file or folder of this machine is needed."""
    if "://" in path:
        raise ValueError("is an address; a file or folder of this machine is needed")
    return path


Whole = Annotated[int, BeforeValidator(_refuse_flag)]
Number = Annotated[float, BeforeValidator(_refuse_flag)]
Texts = Annotated[tuple[str, ...], BeforeValidator(split_list)]
Address = Annotated[str, AfterValidator(require_http)]
LocalPath = Annotated[str, AfterValidator(refuse_address)]


class SettingsSection(BaseModel):
    """A section of the settings: fields with defaults, each with its environment variable; unknown
    keys are refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(lambda name: str(name).upper())
]
ToolNames = Literal["dotted", "plain"]
WebOrigin = Annotated[str, AfterValidator(require_origin)]
PublicUrl = Annotated[str, AfterValidator(lambda url: require_http(url).rstrip("/") if url else "")]


SectionT = TypeVar("SectionT", bound=SettingsSection)


class EmbeddingSettings(SettingsSection):
    """The embedder. `kind` is `local`, or the kind of OpenAI-compatible server at `url`."""

    kind: Literal["local", "infinity", "ollama", "tei", "openai"] = setting(
        "local", "STACKROOM_EMBED_KIND"
    )
    """`local`, `infinity`, `ollama`, `tei` or `openai`."""
    url: str = setting("", "STACKROOM_EMBED_URL")
    """The address of the server; empty: the usual one of its kind. Not used by `local`."""
    model: str = setting("all-MiniLM-L6-v2", "STACKROOM_EMBED_MODEL")
    """The server's name of the model; with `local`, the name of the local model, unless a catalogue
    has another.
    """
    dimension: Whole = setting(384, "STACKROOM_EMBED_DIMENSION", ge=1)
    """The dimension of the model's vectors. Not used by `local`."""
    api_key: str = setting("", "STACKROOM_EMBED_API_KEY")
    """Sent to the server as a bearer token, unless empty."""
    query_prefix: str = setting("", "STACKROOM_EMBED_QUERY_PREFIX")
    """Put before every query. Not used by `local`."""
    document_prefix: str = setting("", "STACKROOM_EMBED_DOCUMENT_PREFIX")
    """Put before every stored text. Not used by `local`."""
    lower_case: bool = setting(True, "STACKROOM_EMBED_LOWER_CASE")
    """Whether stored texts and queries are sent in lower case. Not used by `local`."""
    timeout_s: Number = setting(2.0, "STACKROOM_EMBED_TIMEOUT_S", ge=0)
    """Timeout in seconds for embedding a query; 30 times as long for a batch of texts. Not used by
    `local`.
    """
    batch_size: Whole = setting(32, "STACKROOM_EMBED_BATCH_SIZE", ge=1)
    """How many texts one request embeds. Not used by `local`."""
    requests: Whole = setting(4, "STACKROOM_EMBED_REQUESTS", ge=1)
    """How many requests for stored texts are sent at the same time. Not used by `local`."""
    threads: Whole = setting(0, "STACKROOM_EMBED_THREADS", ge=0)
    """How many cores embed stored texts; 0: all, the second and further ones as far as they are
    idle. `local` only.
    """
    device: Literal["auto", "cpu", "cuda", "coreml"] = setting("auto", "STACKROOM_EMBED_DEVICE")
    """Where stored texts are embedded; `auto`: on an NVIDIA GPU if onnxruntime can use one. `local`
    only.
    """
    models: LocalPath = setting("", "STACKROOM_MODELS")
    """The folder of the local models; empty: `models` in the library. Several libraries can share
    it.
    """
    hub_url: Address = setting(HUB_URL, "STACKROOM_HUB_URL")
    """Where weights are fetched if the package index does not have them; a mirror that is set here
    is asked first.
    """

    @model_validator(mode="before")
    @classmethod
    def _fill_in_address(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Fill in the usual address of a known kind of server."""
        url = values.get("url") or ENDPOINT_DEFAULTS.get(str(values.get("kind")), ("", ""))[0]
        return {**values, "url": url.rstrip("/") if isinstance(url, str) else url}

    @property
    def path(self) -> str:
        """The path of the server's embeddings call."""
        return ENDPOINT_DEFAULTS.get(self.kind, ("", ""))[1]


class RerankSettings(SettingsSection):
    """The optional cross-encoder endpoint; off while `url` is empty."""

    url: str = setting("", "STACKROOM_RERANK_URL")
    """The URL of the endpoint, such as `http://localhost:7997/rerank`; empty: off."""
    model: str = setting("", "STACKROOM_RERANK_MODEL")
    """The server's name of the model."""
    api_key: str = setting("", "STACKROOM_RERANK_API_KEY")
    """Sent to the server as a bearer token, unless empty."""
    timeout_s: Number = setting(0.5, "STACKROOM_RERANK_TIMEOUT_S", ge=0)
    """Timeout in seconds; after that the order stays as it was."""
    depth: Whole = setting(30, "STACKROOM_RERANK_DEPTH", ge=0)
    """How many of the best results it reranks."""


class ServerSettings(SettingsSection):
    """`stackroom serve --http`: its address and limits."""

    host: str = setting("127.0.0.1", "STACKROOM_HOST")
    """The address it listens on; anything but loopback needs accounts."""
    port: Whole = setting(8080, "PORT", ge=0, le=65_535)
    """The port of MCP, REST, health, metrics and the web page."""
    public_url: PublicUrl = setting("", "STACKROOM_PUBLIC_URL")
    """The URL that clients use behind a proxy, such as `https://catalogue.example.org`."""
    allowed_hosts: Texts = setting((), "STACKROOM_ALLOWED_HOSTS")
    """Further accepted values of the `Host` header, besides loopback, `host` and that of
    `public_url`.
    """
    allowed_origins: Texts = setting((), "STACKROOM_ALLOWED_ORIGINS")
    """Further accepted values of the `Origin` header, besides those of the allowed hosts."""
    trusted_proxies: Texts = setting((), "STACKROOM_TRUSTED_PROXIES")
    """Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted."""
    accounts: bool = setting(True, "STACKROOM_ACCOUNTS")
    """Whether callers must authenticate; if not, every caller on this machine is the local user."""
    cache_size: Whole = setting(100, "CACHE_SIZE", ge=0)
    """How many answers the cache holds; 0: no cache."""
    threads: Whole = setting(4, "STACKROOM_THREADS", ge=1)
    """How many calls run concurrently."""
    queue: Whole = setting(1000, "STACKROOM_QUEUE", ge=1)
    """How many calls may be queued; more are refused at once."""
    streams: Whole = setting(4000, "STACKROOM_STREAMS", ge=1)
    """How many streams (SSE, WebSocket, sessions) may be open."""
    shutdown_s: Number = setting(5.0, "STACKROOM_SHUTDOWN_S", ge=0)
    """How many seconds running calls may take to finish at shutdown."""
    max_upload_mb: Whole = setting(200, "STACKROOM_MAX_UPLOAD_MB", ge=0)
    """The largest table that can be added on the page, in megabytes; 0: none can."""
    log_format: Literal["text", "json"] = setting("text", "STACKROOM_LOG_FORMAT")
    """`text` or `json`: one line per call, on standard error."""


class ControlSettings(SettingsSection):
    """The database of accounts, tokens and the audit."""

    url: str = setting("", "STACKROOM_CONTROL_URL")
    """`postgresql://USER:PASSWORD@HOST/NAME` (or HOST,HOST), or `sqlite:///PATH`; empty: the
    library's own.
    """


class McpSettings(SettingsSection):
    """MCP."""

    enabled: bool = setting(True, "STACKROOM_MCP_ENABLED")
    """Whether `/mcp`, `/sse` and `/v1/mcp` are served over the network; if not, only REST is."""
    tool_names: ToolNames = setting("dotted", "STACKROOM_TOOL_NAMES")
    """How tools are listed: `dotted`, as `catalog.mutate`, or `plain`, as `catalog_mutate`. Calls
    may use either.
    """


class WebSettings(SettingsSection):
    """The page for people that `stackroom serve --http` serves at `/`."""

    page: bool = setting(True, "STACKROOM_WEB_PAGE")
    """Whether there is a page; if not, browsers get JSON as programs do."""
    chat: bool = setting(True, "STACKROOM_WEB_CHAT")
    """Whether the page has a chat; if not, its browser may connect to nothing but this server."""
    connect: Annotated[tuple[WebOrigin, ...], BeforeValidator(split_list)] = setting(
        (), "STACKROOM_WEB_CONNECT"
    )
    """Further servers of models that the chat may call, such as `https://models.example.org`; a
    port `*` means any.
    """


class RateLimitSettings(SettingsSection):
    """Calls per minute of a user, over all connections; a role may have its own limits."""

    read_per_minute: Whole = setting(120, "STACKROOM_READ_PER_MINUTE", ge=0)
    """Searches, look-ups, resources, and recording plays."""
    write_per_minute: Whole = setting(30, "STACKROOM_WRITE_PER_MINUTE", ge=0)
    """Every other call that changes something."""
    sql_per_minute: Whole = setting(10, "STACKROOM_SQL_PER_MINUTE", ge=0)
    """`debug.sql`."""


class SourcesSettings(SettingsSection):
    """Files on the web (`stackroom add https://…`) that feed catalogues."""

    allowed_hosts: Texts = setting((), "STACKROOM_SOURCE_HOSTS")
    """Hosts that may be contacted although they are not public."""
    allowed_networks: Texts = setting((), "STACKROOM_SOURCE_NETWORKS")
    """Networks that may be contacted although they are not public, such as `10.0.0.0/8`."""
    allowed_ports: Texts = setting((), "STACKROOM_SOURCE_PORTS")
    """Ports that may be contacted besides 80 and 443."""
    max_download_mb: Whole = setting(2_000, "STACKROOM_SOURCE_MAX_MB", ge=1)
    """The largest file that is fetched, in megabytes."""


class UpdatesSettings(SettingsSection):
    """Newer releases of catalogues that were installed from a place; other catalogues are never
    asked about.
    """

    check: bool = setting(True, "STACKROOM_UPDATES_CHECK")
    """Whether a server asks, beside serving, if the places of its catalogues have newer
    releases.
    """
    every_h: Number = setting(24.0, "STACKROOM_UPDATES_EVERY_H", ge=0.01)
    """How many hours after a look the next follows, over all servers of a library."""


DEFAULT_FOLDER = "./vector_dbs"
BUCKET_FOLDER = "lancedb"
"""The path of the database in a bucket that is given by its name alone."""
SCHEMES = ("gs", "s3", "az")
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
RIGHT = "a folder, or gs://BUCKET/PATH, s3://BUCKET/PATH or az://CONTAINER/PATH, is right"


def is_remote(place: str) -> bool:
    """Tell whether a database is not on this machine's disk."""
    return "://" in place and not place.startswith("file://")


def find_place_problem(place: str) -> str | None:
    """Return why no database can be at this place, as the end of a sentence that begins with it;
    None if it can.
    """
    if not place.strip():
        return f"is empty; {RIGHT}"
    address = ADDRESS.fullmatch(place)
    if address is None or address[1] == "file":
        return None
    scheme, bucket, _path = address.groups()
    if scheme in ("http", "https"):
        return (
            "is the address of a server; the database is s3://BUCKET/PATH, and the server of it is"
            " named by AWS_ENDPOINT_URL"
        )
    if scheme not in SCHEMES:
        return f"has the scheme '{scheme}', which is not supported; {RIGHT}"
    if "@" in bucket or ":" in bucket:
        return (
            "has more than a bucket before its path; credentials go into environment variables;"
            f" {RIGHT}"
        )
    return None if bucket else f"names no bucket; {RIGHT}"


def require_place(place: str) -> str:
    """Refuse a place where no database can be."""
    if (problem := find_place_problem(place)) is not None:
        raise ValueError(problem)
    return place


def require_bucket(bucket: str) -> str:
    """Refuse what is not the name of a bucket."""
    if bucket and not BUCKET.fullmatch(bucket):
        raise ValueError(
            "is not the name of a bucket; write it alone, without gs:// and without a path"
        )
    return bucket


Place = Annotated[str, AfterValidator(require_place)]
Bucket = Annotated[str, AfterValidator(require_bucket)]


class CollectionSettings(SettingsSection):
    """Collections in a LanceDB database, one table `NAME_documents` each, which servers sync into
    the library.
    """

    base_db_path: Place = setting(DEFAULT_FOLDER, "base_db_path")
    """The database: a folder, or `gs://BUCKET/PATH`, `s3://BUCKET/PATH`, `az://CONTAINER/PATH`. The
    default is used if there is such a folder where the server starts.
    """
    gcs_bucket_name: Bucket = setting("", "GCS_BUCKET_NAME")
    """A bucket of Google Cloud Storage, instead of `base_db_path`: the database is
    `gs://BUCKET/lancedb`.
    """
    gcp_project_id: str = setting("", "GCP_PROJECT_ID")
    """The project of that bucket; accepted and not used, since reading and writing need none."""
    names: Texts = setting((), "STACKROOM_COLLECTIONS")
    """The collections that are expected, separated by commas; empty: all that the database has."""
    model: str = setting("", "STACKROOM_COLLECTIONS_MODEL")
    """The model of the vectors in tables that do not say which it is."""
    refresh_s: Number = setting(300.0, "STACKROOM_COLLECTIONS_REFRESH_S", ge=0)
    """How many seconds after a look at the versions of the tables the next follows; 0: only one, at
    the start.
    """

    @model_validator(mode="after")
    def _require_one_place(self) -> "CollectionSettings":
        address = ADDRESS.fullmatch(self.base_db_path)
        is_same = address is None or (address[1], address[2]) == ("gs", self.gcs_bucket_name)
        if self.gcs_bucket_name and not is_same:
            raise ValueError(
                f"base_db_path is {self.base_db_path}, but GCS_BUCKET_NAME is"
                f" {self.gcs_bucket_name}; set one of them"
            )
        return self

    @property
    def place(self) -> str:
        """The folder or address of the database."""
        if self.gcs_bucket_name and not is_remote(self.base_db_path):
            return f"gs://{self.gcs_bucket_name}/{BUCKET_FOLDER}"
        return self.base_db_path

    @property
    def is_given(self) -> bool:
        """Whether the place is set, not the default."""
        return self.place != DEFAULT_FOLDER


class BackupSettings(SettingsSection):
    """Back-ups: those of the job `backup`, and of `stackroom backup` and `restore` where they name
    no folder.
    """

    to: LocalPath = setting("", "STACKROOM_BACKUP_TO")
    """A folder; empty: `backups` in the library."""


class Settings(SettingsSection):
    """All settings of a process."""

    home: Path
    """The library's folder; by default the platform's folder for a user's data."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    rerank: RerankSettings = RerankSettings()
    server: ServerSettings = ServerSettings()
    control: ControlSettings = ControlSettings()
    mcp: McpSettings = McpSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    web: WebSettings = WebSettings()
    sources: SourcesSettings = SourcesSettings()
    updates: UpdatesSettings = UpdatesSettings()
    collections: CollectionSettings = CollectionSettings()
    backup: BackupSettings = BackupSettings()
    offline: bool = setting(False, "RAG_STRICT_OFFLINE")
    """Whether every operation that needs the network is refused."""
    log_level: LogLevel = setting("INFO", "LOG_LEVEL")
    """The log level of `stackroom serve`: `DEBUG`, `INFO`, `WARNING` or `ERROR`."""

    sections: Mapping[str, Any] = {}
    """Sections and keys of catalogue packages, as the file has them; `read_section` validates
    them.
    """
    environment: Mapping[str, str] = Field(default={}, repr=False, exclude=True)
    """Environment variables that are not settings of the engine: those of packages are among
    them.
    """

    @property
    def catalogues_folder(self) -> Path:
        """The folder of the installed catalogues."""
        return self.home / "catalogues"

    @property
    def control_url(self) -> str:
        """The configured address of the control database, or that of the library's own."""
        return self.control.url or f"sqlite:///{self.home / CONTROL_FILE}"

    @property
    def has_control(self) -> bool:
        """Whether a control database is configured, or the library has one."""
        return bool(self.control.url) or (self.home / CONTROL_FILE).is_file()

    @property
    def models_folder(self) -> Path:
        """The folder of embedding models."""
        return (
            Path(self.embedding.models).expanduser()
            if self.embedding.models
            else self.home / "models"
        )


NESTED = {"rate_limit": "mcp.rate_limit"}
"""Section → its name in the file, where that is another."""
SECTIONS: dict[str, type[SettingsSection]] = {
    NESTED.get(name, name): field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, SettingsSection)
}
"""The sections of the file, each with its keys."""


def iter_variables(model: type[SettingsSection]) -> Iterator[tuple[str, str]]:
    """Yield the environment variables of a section, each with its key."""
    for key, field in model.model_fields.items():
        if isinstance(field.json_schema_extra, dict):
            yield str(field.json_schema_extra["variable"]), key


ENVIRONMENT = {
    **{
        variable: (section, key)
        for section, model in SECTIONS.items()
        for variable, key in iter_variables(model)
    },
    **{variable: ("", key) for variable, key in iter_variables(Settings)},
}
"""Environment variable → section and key; the same names work in the file."""


TOP_KEYS = tuple(key for _variable, key in iter_variables(Settings))
"""The keys of the file that are outside any section."""

PROBLEMS = {
    "greater_than_equal": "is less than {ge}",
    "less_than_equal": "is more than {le}",
    "string": "is not a text; write one in quotes",
    "bool": "is not true or false",
    "int": "is not a whole number",
    "finite": "is not a finite number",
    "float": "is not a number",
}
"""Type of pydantic's error, or its first word → what is wrong with the value."""


def find_package_sections() -> Collection[str]:
    """Return the names of sections and keys that installed packages declare; no package is
    imported.
    """
    return entry_points(group=PACKAGE_SECTIONS).names


def load_settings(
    environment: Mapping[str, str] | None = None,
    *,
    flags: Mapping[tuple[str, str], Any] | None = None,
    find_sections: Callable[[], Collection[str]] = find_package_sections,
) -> Settings:
    """Read the settings of this process.

    `flags` are those that its command line gave, by section and key; `find_sections` is only called
    when the file has a section or key that the engine does not know.
    """
    env = os.environ if environment is None else environment
    home = _home_of(env)
    path = home / CONFIG_FILE
    values = _load_file(path)
    own = {name: values.pop(name, {}) for name in SECTIONS}
    own[""] = {key: values.pop(key) for key in TOP_KEYS if key in values}
    _require_known(path, values, find_sections)
    given = {place: env[variable] for variable, place in ENVIRONMENT.items() if env.get(variable)}
    for (section, key), value in {**given, **(flags or {})}.items():
        own[section] = {**_require_table(section, own[section]), key: value}
    sections = {
        name.rpartition(".")[2]: _validate(model, name, own[name])
        for name, model in SECTIONS.items()
    }
    left = {
        name: value
        for name, value in env.items()
        if name not in ENVIRONMENT and name != "STACKROOM_HOME"
    }
    return _validate(
        Settings, "", {"home": home, **sections, **own[""], "sections": values, "environment": left}
    )


def _home_of(env: Mapping[str, str]) -> Path:
    """Return the library's folder; refuse an address, with the way to keep catalogues there."""
    home = env.get("STACKROOM_HOME") or platformdirs.user_data_dir("stackroom")
    if "://" in home:
        raise InputError(
            f"STACKROOM_HOME: {home} is an address, but the library is a folder of this machine. To"
            f" share a catalogue there, run: stackroom publish NAME {home}; to serve the"
            f" collections that are there, set base_db_path={home}, or run: stackroom sync {home}"
        )
    return Path(home).expanduser().absolute()


def read_section(settings: Settings, name: str, model: type[SectionT]) -> SectionT:
    """Return a package's section; an empty name stands for its keys outside any section."""
    outside = {
        key: settings.sections[key] for key in model.model_fields if key in settings.sections
    }
    values = dict(_require_table(name, settings.sections.get(name, {})) if name else outside)
    values |= {
        key: given
        for variable, key in iter_variables(model)
        if (given := settings.environment.get(variable))
    }
    return _validate(model, name, values)


def read_package_sections(settings: Settings) -> dict[str, SettingsSection]:
    """Return the sections of all installed packages by name; keys outside any section are under
    their own name.
    """
    found = {}
    for entry in entry_points(group=PACKAGE_SECTIONS):
        model: type[SettingsSection] = entry.load()
        found[entry.name] = read_section(
            settings, "" if entry.name in model.model_fields else entry.name, model
        )
    return found


def _load_file(path: Path) -> dict[str, Any]:
    """Return the file's tables and keys; a table such as `[mcp.rate_limit]` is under its whole
    name.
    """
    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise InputError(
            f"STACKROOM_HOME: {path.parent} is not a folder; the library must be one"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except TomlError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error}") from error
    for outer, inner in (name.split(".") for name in SECTIONS if "." in name):
        if isinstance(document.get(outer), dict) and inner in document[outer]:
            document[f"{outer}.{inner}"] = document[outer].pop(inner)
    return document


def _require_known(
    path: Path, names: Collection[str], find_sections: Callable[[], Collection[str]]
) -> None:
    known = [
        *(name for name in SECTIONS if "." not in name),
        *TOP_KEYS,
        *(find_sections() if names else ()),
    ]
    for name in names:
        if name not in known:
            raise InputError(
                f"{path}: unknown key '{name}'{did_you_mean(name, known)}; known:"
                f" {', '.join(known)}"
            )


def _require_table(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"setting '{name}': {value!r} is not a section; write [{name}]")
    return value


def _validate(model: type[SectionT], section: str, values: Any) -> SectionT:
    """Return the section with these values; raise InputError for the first that is wrong."""
    try:
        return model.model_validate(_require_table(section, values))
    except ValidationError as error:
        raise InputError(_explain(model, section, error.errors()[0])) from error


def _explain(model: type[SettingsSection], section: str, error: ErrorDetails) -> str:
    """Return a message that says what is wrong with a value, and what would be right."""
    path = [section, *(part for part in error["loc"] if isinstance(part, str))]
    name = ".".join(filter(None, path))
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = list(model.model_fields)
        return f"unknown setting '{name}'{did_you_mean(path[-1], known)}; known: {', '.join(known)}"
    if kind == "literal_error":
        known = re.findall(r"'([^']+)'", context["expected"])
        return (
            f"setting '{name}': no '{value}'{did_you_mean(str(value), known)}; known:"
            f" {', '.join(known)}"
        )
    if kind == "value_error" and isinstance(value, Mapping):
        return f"setting '{name}': {context['error']}"
    problem = PROBLEMS.get(kind) or PROBLEMS.get(kind.partition("_")[0]) or "{error}"
    return f"setting '{name}': {value!r} {problem.format(**{'error': error['msg'], **context})}"
