"""Explanations of hits in answers: parts with names and numbers that add up, as structured content and as text."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from stackroom.model.hits import Why
from stackroom.tools.spec import ToolParams, ToolResult

DECIMALS = 4
STRENGTH, ORDER = "strength", "order"


class ExplainParams(ToolParams):
    """The argument of a tool that explains what it finds."""

    explain: bool = Field(default=False, description="Say why each has its score and place")


class WhyShape(ToolResult):
    """The parts of a hit's score, the parts of the score that orders the hits, and the words that the record lacks."""

    model_config = ConfigDict(alias_generator=None)

    strength: dict[str, float]
    order: dict[str, float] = Field(default_factory=dict, exclude_if=lambda parts: not parts)
    lacks: list[str] = Field(default_factory=list, exclude_if=lambda words: not words)


class Explained(ToolResult):
    """A part of an answer that has an explanation where it was asked for; not in the schema."""

    why: Annotated[WhyShape | None, SkipJsonSchema()] = Field(default=None, exclude_if=lambda why: why is None)


def shape_why(why: Why | None) -> WhyShape | None:
    """Return an explanation as it is answered."""
    if why is None:
        return None
    return WhyShape(strength=rounded_parts(why.strength), order=rounded_parts(why.order), lacks=list(why.lacks))


def why_lines(why: WhyShape | None) -> list[str]:
    """Return an explanation as lines of text; none where there is none."""
    if why is None:
        return []
    lines = [_sum_line(STRENGTH, why.strength), *([_sum_line(ORDER, why.order)] if why.order else [])]
    return [*lines, *([f"lacks: {', '.join(why.lacks)}"] if why.lacks else [])]


def explanation_lines(told: Mapping[str, Any]) -> list[str]:
    """Return the explanation of one record's place, or of why it has none, as lines of text."""
    place = f"number {told['rank']}, on page {told['page']}" if told["found"] else f"not found: {told['cut']}"
    head = f"{told['title']} [{told['id']}] by {told['tool']}: {place}; strength {told['score']}"
    sums = WhyShape(strength=told["strength"], order=told["order"])
    return [head, *(f"- {reason}" for reason in told["because"]), *why_lines(sums)]


def _sum_line(name: str, parts: Mapping[str, float]) -> str:
    """Return parts and their sum as a line: `why strength 0.912 = base 0.114 + meaning 0.5 …`."""
    addends = " ".join(f"{'-' if part < 0 else '+'} {one} {abs(part)}" for one, part in parts.items())
    return f"why {name} {round(sum(parts.values()), DECIMALS)} = {addends.removeprefix('+ ')}"


def rounded_parts(parts: Mapping[str, float]) -> dict[str, float]:
    """Return parts as they are shown: rounded so that they add up to their rounded sum, without those of 0."""
    shown = {name: value for name, part in parts.items() if (value := round(part, DECIMALS))}
    missing = round(sum(parts.values()), DECIMALS) - sum(shown.values())
    if shown:
        greatest = max(shown, key=lambda name: abs(shown[name]))
        shown[greatest] = round(shown[greatest] + missing, DECIMALS)
    return shown
