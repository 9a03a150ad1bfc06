"""The only reader of the environment and of the configuration file; gives frozen values.

Order, later wins: defaults, `PINAKES_HOME/pinakes.toml`, environment variables. Names: `docs/reference/settings.md`.
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
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

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
class Settings:
    """Everything that is configured."""

    home: Path
    """The library's folder; by default the platform's folder for a user's data."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """The section `[embedding]`."""
    rerank: RerankSettings = RerankSettings()
    """The section `[rerank]`."""
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


SectionT = TypeVar("SectionT", EmbeddingSettings, RerankSettings)

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
    "LOG_LEVEL": ("", "log_level"),
    "RAG_STRICT_OFFLINE": ("", "offline"),
    "SEMANTIC_SCHOLAR_API_KEY": ("", "semantic_scholar_key"),
}
"""Environment variable → section and key; the same names work in the file."""


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of this process."""
    env = os.environ if environment is None else environment
    home = Path(env.get("PINAKES_HOME") or platformdirs.user_data_dir("pinakes")).expanduser().absolute()
    values = _file_values(home / CONFIG_FILE)
    for variable, (section, key) in ENVIRONMENT.items():
        if env.get(variable):
            values.setdefault(section, {})[key] = env[variable]
    return Settings(
        home=home,
        embedding=_embedding(_section(EmbeddingSettings(), "embedding", values)),
        rerank=_section(RerankSettings(), "rerank", values),
        shelves=_shelves(values.get("shelves", {})),
        semantic_scholar_key=str(values.get("", {}).get("semantic_scholar_key", "")),
        offline=_flag("offline", values.get("", {}).get("offline", False)),
        log_level=_log_level(str(values.get("", {}).get("log_level", "INFO"))),
    )


def _file_values(path: Path) -> dict[str, dict[str, Any]]:
    """Return the file's sections; keys outside any section are under an empty name."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    known = ["embedding", "rerank", "shelves", *SINGLE_KEYS]
    for key, value in document.items():
        if key not in known:
            raise InputError(f"{path}: unknown key '{key}'{did_you_mean(key, known)}; known: {', '.join(known)}")
        if isinstance(value, dict) is (key in SINGLE_KEYS):
            form = f"{key} = {SINGLE_KEYS[key]}" if key in SINGLE_KEYS else f"[{key}]"
            raise InputError(f"{path}: '{key}' is written {form}")
    sections = {key: dict(value) for key, value in document.items() if isinstance(value, dict)}
    sections[""] = {key: value for key, value in document.items() if not isinstance(value, dict)}
    return sections


def _section(default: SectionT, name: str, values: Mapping[str, Mapping[str, Any]]) -> SectionT:
    """Return the section with the given values put in, each of the type of its default."""
    known = list(default.__dataclass_fields__)
    changes: dict[str, Any] = {}
    for key, value in values.get(name, {}).items():
        if key not in known:
            raise InputError(f"unknown setting '{name}.{key}'{did_you_mean(key, known)}; known: {', '.join(known)}")
        wanted = type(getattr(default, key))
        try:
            changes[key] = _flag(f"{name}.{key}", value) if wanted is bool else wanted(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"setting '{name}.{key}': {value!r} is not {wanted.__name__}") from error
    return replace(default, **changes)


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
