"""An operation as a tool: its name, its schemas over the served catalogues, and its arguments."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel, create_model

from stackroom.frozen import frozen
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.operation import (
    AnyOperation,
    Operation,
    Tool,
)
from stackroom.tools.spec import bare_common, brief_input, compact_schema, optional

CHOICE: Any = optional("Only this one")
LISTED = Tool()


@frozen
class Words:
    """The words about the served catalogues in the schema of a tool's arguments."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    """Schemas of arguments, instead of those of the parameters."""
    definitions: Mapping[str, Any] = field(default_factory=dict)
    """The definitions that those schemas refer to."""
    descriptions: Callable[[], Mapping[str, str]] = dict
    """Returns the descriptions of arguments that depend on the records of now, for lists of tools;
    empty ones do not replace those of the parameters.
    """


NO_WORDS = Words()


def with_choice(params: type[BaseModel]) -> type[BaseModel]:
    """Return a shape of parameters with one that chooses a catalogue."""
    return create_model(params.__name__, __base__=params, catalogue=(str | None, CHOICE))


@dataclass(frozen=True, kw_only=True)
class Served:
    """An operation as a tool, and the catalogues that it is over."""

    operation: AnyOperation
    catalogues: Sequence[OpenCatalogue] = ()
    has_choice: bool = False
    """Whether a call may choose one of the catalogues, by the parameter `catalogue`."""
    is_listed: bool = True
    """Whether lists may have it; else it is called over REST only, by pages."""
    is_brief: bool = False
    """Whether schemas say only what a call needs, and nothing of the answer, to keep a long tool
    list small.
    """

    @cached_property
    def name(self) -> str:
        """The tool's name."""
        return self.operation.name

    @cached_property
    def face(self) -> Tool:
        """The declaration of the tool."""
        face = self.operation.faces.tool
        return face if isinstance(face, Tool) else LISTED

    @property
    def display_name(self) -> str:
        """The title, or the name in words: `search_films` is `Search films`."""
        return self.face.title or re.sub(r"(?<=[a-z])(?=[A-Z])|[._]+", " ", self.name).capitalize()

    @cached_property
    def names(self) -> list[str]:
        """The names of the catalogues."""
        return [one.name for one in self.catalogues]

    @cached_property
    def description(self) -> str:
        """The summary of the operation, and the names of its catalogues."""
        over = f" Catalogues: {', '.join(self.names)}." if self.has_choice else ""
        return f"{self.operation.summary}{over}"

    @cached_property
    def params(self) -> type[BaseModel]:
        """The shape of its arguments."""
        params = self.operation.params
        return with_choice(params) if self.has_choice else params

    def reads(self, params: Any) -> Iterable[str] | None:
        """Return the names of the catalogues that a call reads; None where it may read every
        one.
        """
        reads = self.operation.reads
        if reads is not None and reads.names is not None:
            return reads.names(self.catalogues, params)
        if reads is None or not self.catalogues:
            return None
        chosen = getattr(params, "catalogue", None)
        if chosen is None or chosen in self.names:
            return [chosen] if chosen else self.names
        return [meant(chosen, self.names)]

    @cached_property
    def words(self) -> Words:
        """The words about the catalogues in its schema."""
        make = self.face.words
        words = make(self.catalogues) if make else NO_WORDS
        if not self.has_choice:
            return words
        chosen = {"catalogue": {"type": "string", "enum": self.names}}
        return replace(words, properties={**words.properties, **chosen})

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        words, schema = self.words, compact_schema(self.params.model_json_schema())
        for name, more in words.properties.items():
            known = schema["properties"][name]
            schema["properties"][name] = {
                key: known[key] for key in known if key == "description"
            } | more
        whole = bare_common(
            {**schema, "$defs": dict(words.definitions)} if words.definitions else schema
        )
        return brief_input(whole) if self.is_brief else whole

    @property
    def listed_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments as it is listed, with what depends on the records of
        now.
        """
        known = self.input_schema["properties"]
        now = {
            name: {**known[name], "description": text}
            for name, text in self.words.descriptions().items()
            if text
        }
        return {**self.input_schema, "properties": {**known, **now}}

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the structured answer."""
        return {"type": "object"} if self.is_brief else self.full_output_schema

    @cached_property
    def full_output_schema(self) -> dict[str, Any]:
        """The JSON schema of the structured answer with every field, however many tools there
        are.
        """
        return compact_schema(
            self.operation.result.model_json_schema(mode="serialization"), dropped=("required",)
        )


DeclaredTool = AnyOperation | Served


def serve(
    tools: Iterable[DeclaredTool],
    catalogues: Sequence[OpenCatalogue],
    *,
    of_package: bool = False,
    is_listed: bool = True,
    is_brief: bool = False,
) -> list[Served]:
    """Return operations as tools over catalogues; one that can be asked about none of these is left
    out.
    """
    served = []
    for tool in tools:
        one = tool
        if isinstance(one, Operation):
            over = one.over
            some = catalogues if over is None else [each for each in catalogues if over(each.spec)]
            if over is not None and not some:
                continue
            one = Served(operation=one, catalogues=some)
            may_choose = of_package and len(some) > 1 and one.face.has_choice
            one = replace(one, has_choice=may_choose)
        served.append(
            replace(
                one,
                is_listed=is_listed and one.is_listed and one.face.is_listed,
                is_brief=is_brief or one.is_brief,
            )
        )
    return served
