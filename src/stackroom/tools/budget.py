"""Priced answers: an answer is cut to what the caller can pay for, and says how to get the rest.

An answer has two forms, text and structured content, and a client shows its model one of them. Each
stays within `max_tokens`, of four bytes each. The text, which is mostly the shorter one, tells all
that fits it, never less than the structured form; a text that is JSON tells the same. Long texts
and lists are shortened first, then results are left out from the end; passages are kept whole, so
of them there are fewer.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

import orjson
from pydantic import BaseModel, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from stackroom.errors import InputError
from stackroom.text.safe import shorten
from stackroom.tools.spec import LARGEST, NotedResult, ToolParams, ToolResult, optional, when_known

LISTS = (list, tuple)
PLAIN = (str, int, float)


def value_text(value: Any) -> str:
    """Return a value on one line: a list of plain values with commas between, anything else nested
    as JSON.
    """
    if isinstance(value, str):
        # other blanks are not printable
        has_spaces_alone = value.isprintable() and "  " not in value
        return value.strip() if has_spaces_alone else " ".join(value.split())
    if isinstance(value, LISTS) and value and all(isinstance(one, PLAIN) for one in value):
        return ", ".join(map(value_text, value))
    return json_text(value)


def json_text(value: Any) -> str:
    """Return a value as compact JSON."""
    return orjson.dumps(value, default=str).decode()


def fields_text(values: Mapping[str, Any]) -> str:
    """Return values by name on one line."""
    return "; ".join(f"{name}: {value_text(value)}" for name, value in values.items())


DEFAULT_TOKENS = 2_500  # the budget of a call that states neither a budget nor a number of results
LEAST_TOKENS = 100
MOST_TOKENS = 100_000
BYTES_A_TOKEN = 4
ASCII = bytes(range(128))

# the lengths to which long texts are shortened before results are left out
TEXT_LENGTHS = (600, 400, 240, 120)
ESTIMATE = 0.5
"""The share of what has to be saved that shorter texts save at least by an estimate, for them to be
tried.
"""
READABLE_LENGTH = 240  # the length of long texts where results are left out
ITEM_CHARS = 30  # the characters for which a shortened list has one item
LAST_LENGTHS = (4_000, 2_000, 1_000, 600, 240, 120, 60)
"""The lengths that are tried for a single result that is too long by itself."""

EVERY = "*"  # in a path, every field
CURSOR = re.compile(r"[1-9]\d{0,6}")

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Continuation:
    """How to get the items that an answer has no room for."""

    hint: str
    cursor: str | None = None


class PricedParams(ToolParams):
    """The arguments of a tool with a budget for its answer."""

    sized_by: ClassVar[tuple[str, ...]] = ("limit",)
    """The arguments that say how much is wanted: a call that has one gets all of it, unless it
    states a budget.
    """
    usual_text_tokens: ClassVar[int] = DEFAULT_TOKENS
    """The most that the text of a call without a budget takes; as JSON the same is longer."""

    max_tokens: Annotated[int | None, WithJsonSchema({"type": "integer"})] = optional(
        "Longest answer, in tokens of 4 bytes", alias="max_tokens", ge=LEAST_TOKENS, le=MOST_TOKENS
    )

    @property
    def tokens(self) -> int | None:
        """The budget in force; None where there is none."""
        if self.max_tokens is not None:
            return self.max_tokens
        return None if self.model_fields_set.intersection(self.sized_by) else DEFAULT_TOKENS

    def after(self, _count: int) -> Continuation:
        """Return how to get the items after the first ones of this call's."""
        return Continuation("more with a greater max_tokens")


class OffsetParams(PricedParams):
    """The arguments of a tool whose answer is a list with an offset."""

    offset: Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0})] = Field(
        default=0, ge=0, le=LARGEST, description="How many to skip"
    )

    def after(self, count: int) -> Continuation:
        """Return the offset of the items after the first ones of this call's."""
        return Continuation(f"the rest with offset {self.offset + count}")


class PagedParams(PricedParams):
    """The arguments of a tool whose answer is a list that can be continued."""

    cursor: str | None = optional("Of the last answer, to continue it")

    @property
    def start(self) -> int:
        """The number of items that were seen already; InputError for a cursor that is none."""
        if self.cursor is None:
            return 0
        if not CURSOR.fullmatch(self.cursor):
            raise InputError(
                "'cursor' is not valid here; give that of the last answer, or start again"
                " without it"
            )
        return int(self.cursor)

    def after(self, count: int) -> Continuation:
        """Return the cursor of the items after the first ones of this call's."""
        if not self.start + count:
            return super().after(count)
        cursor = str(self.start + count)
        return Continuation(f"the rest with cursor '{cursor}'", cursor)


class PricedResult(NotedResult):
    """An answer that can be cut: lists of items, of which fewer or shorter ones may be shown.

    It declares its lists and its long texts. An answer whose items are counted otherwise overrides
    `item_count`, `first` and `shortened`.
    """

    paged: ClassVar[str | tuple[str, ...]] = "results"
    """The name of the list, or of several, one after the other."""
    unit: ClassVar[str] = ""
    """The word for the items in notes, as in "3 of 10 books fit"."""
    long_texts: ClassVar[tuple[str, ...]] = ()
    """The fields of an item that may be shortened: texts, and lists whose first values say most. A
    dot leads into a field, and `*` is every field.
    """
    long_parts: ClassVar[tuple[str, ...]] = ()
    """The same for the answer itself, beside its items."""
    shortening: ClassVar[str] = "long texts and lists are cut"
    """What was done where something was shortened."""
    whole_with: ClassVar[str] = "a greater max_tokens"
    """The way to what was shortened."""
    has_passages: ClassVar[bool] = False
    """Whether the long texts are passages, so that fewer whole ones are better than more that are
    cut.
    """

    cursor: Annotated[str | None, SkipJsonSchema()] = when_known()
    """Continues the list; None where it ends."""

    @property
    def item_count(self) -> int:
        """The number of items."""
        return sum(len(getattr(self, name)) for name in self._lists)

    @property
    def _lists(self) -> tuple[str, ...]:
        return (self.paged,) if isinstance(self.paged, str) else self.paged

    @property
    def remarks(self) -> list[str]:
        """The notes, and how to get more where they do not say so: the end of every text."""
        has_note = any(f"cursor '{self.cursor}'" in note for note in self.notes)
        return [
            *self.notes,
            *([] if self.cursor is None or has_note else [f"more with cursor '{self.cursor}'"]),
        ]

    def first(self, count: int) -> Self:
        """Return the answer with its first items only."""
        shown: dict[str, Any] = {"has_more": True} if "has_more" in type(self).model_fields else {}
        for name in self._lists:
            shown[name] = getattr(self, name)[:count]
            count -= len(shown[name])
        return self.model_copy(update=shown)

    def shortened(self, chars: int) -> Self:
        """Return the answer with its long texts cut to a number of characters; the others stay the
        same objects.
        """
        places = (
            *(f"{name}.{text}" for name in self._lists for text in self.long_texts),
            *self.long_parts,
        )
        return cast(Self, _shortened_at(self, _steps(places), chars))


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Both forms of an answer."""

    structured: dict[str, Any]
    text: str
    told: dict[str, Any] | None = None
    """What the text tells, where that is another part of the answer than the structured form
    has.
    """

    @cached_property
    def encoded(self) -> bytes:
        """The structured form as compact JSON."""
        return orjson.dumps(self.structured)

    @cached_property
    def text_tokens(self) -> float:
        """The price of the text."""
        return len(self.text.encode()) / BYTES_A_TOKEN

    def fits(self, tokens: float) -> bool:
        """Tell whether the structured form costs no more than this, however it is written as JSON;
        False if unsure.
        """
        raw = self.encoded
        blanks = raw.count(b",") + raw.count(b":")  # at most so many
        beyond = b"" if raw.isascii() else raw.translate(None, ASCII)
        escaped = 3 * len(beyond.decode().encode("utf-16-le")) + 5 * raw.count(b"\x7f")
        return len(raw) - len(beyond) + blanks + escaped <= BYTES_A_TOKEN * tokens

    @cached_property
    def structured_tokens(self) -> float:
        """The price of the structured form, as the longest JSON that may be sent."""
        return len(json.dumps(self.structured)) / BYTES_A_TOKEN


# returns the price of forms as a share of what they may cost; those of at most 1 fit
Price = Callable[[Forms], float]


def fit_answer(
    result: ToolResult, params: BaseModel, render: Callable[[ToolResult], Forms]
) -> Forms:
    """Return both forms of an answer, cut to the budget of the call where it has one."""
    if (
        isinstance(params, PagedParams)
        and isinstance(result, PricedResult)
        and params.cursor is not None
        and not result.item_count
    ):
        note = f"there is nothing after cursor '{params.cursor}'; start again without it"
        result = result.model_copy(update={"notes": [*result.notes, note]})
    whole = render(result)
    if (
        not isinstance(params, PricedParams)
        or not isinstance(result, PricedResult)
        or params.tokens is None
    ):
        return whole
    tokens, text_tokens = params.tokens, params.max_tokens or params.usual_text_tokens
    cut = _Cut(result=result, params=params, render=render, whole=whole)

    def price_text(forms: Forms) -> float:
        return forms.text_tokens / text_tokens

    def price(forms: Forms) -> float:
        of_text = price_text(forms)
        return (
            of_text
            if of_text > 1 or forms.fits(tokens)
            else max(of_text, forms.structured_tokens / tokens)
        )

    both = cut.first_that_fits(price)
    if both is whole or whole.text.startswith("{"):
        return both
    told = cut.first_that_fits(price_text)
    return (
        both
        if told is both
        else Forms(structured=both.structured, text=told.text, told=told.structured)
    )


def shorten_value(value: Any, chars: int) -> Any:
    """Return a value cut to a number of characters; a nested one as the beginning of its JSON."""
    if isinstance(value, str):
        return shorten(value, chars)
    if isinstance(value, list):
        return shorten_list(value, chars)
    return (
        shorten(json_text(value), chars)
        if isinstance(value, Mapping) and len(json_text(value)) > chars
        else value
    )


@cache
def _steps(places: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the first steps of paths, each with what follows it in them: nothing where a path
    ends.
    """
    split = [place.partition(".")[::2] for place in places]
    return {
        first: tuple(rest for one, rest in split if one in (first, EVERY)) for first, _ in split
    }


def _shortened_at(value: Any, steps: Mapping[str, tuple[str, ...]], chars: int) -> Any:
    """Return a value with what paths lead to cut to a number of characters; lists on the way are
    gone through.
    """
    if isinstance(value, LISTS):
        return [_shortened_at(item, steps, chars) for item in value]
    is_every = EVERY in steps
    if isinstance(value, BaseModel):
        names = (value.model_extra or type(value).model_fields) if is_every else steps
        changed = {}
        for name in names:
            whole = short = getattr(value, name)
            rests = steps.get(name) or steps[EVERY]
            if "" not in rests:
                short = _shortened_at(whole, _steps(rests), chars)
            elif isinstance(whole, LISTS):
                first = whole[: max(1, chars // ITEM_CHARS)]
                short = [
                    shorten(one, chars) if isinstance(one, str) and len(one) > chars else one
                    for one in first
                ]
            else:
                short = shorten_value(whole, chars)
            if short != whole:
                changed[name] = short
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Mapping):
        return {
            key: shorten_value(inner, chars) if is_every else inner for key, inner in value.items()
        }
    return shorten_value(value, chars) if is_every else value


def shorten_list(values: Sequence[ValueT], chars: int) -> list[ValueT]:
    """Return the first values that have about so many characters together; at least one."""
    sizes = accumulate(map(_size, values))
    return [value for value, size in zip(values, sizes, strict=True) if size <= chars] or list(
        values[:1]
    )


def _size(value: object) -> int:
    """Return about how many characters a value has as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, BaseModel):
        return sum(len(name) + 4 + _size(one) for name, one in value.__dict__.items())
    return 2 + sum(map(_size, value)) if isinstance(value, LISTS) else len(str(value))


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """An answer that is to be cut, and its forms by the items and the length of texts that they
    have.
    """

    result: PricedResult
    params: PricedParams
    render: Callable[[ToolResult], Forms]
    whole: Forms
    rendered: dict[tuple[int, int | None], Forms] = field(default_factory=dict)

    @cached_property
    def total(self) -> int:
        """The number of items."""
        return self.result.item_count

    @cached_property
    def has_long_texts(self) -> bool:
        """Whether shorter texts make the answer shorter."""
        return (
            not self.result.has_passages and self.result.shortened(READABLE_LENGTH) != self.result
        )

    def forms(self, count: int, chars: int | None) -> Forms:
        """Return the forms with so many items and texts of at most so many characters."""
        if (count, chars) not in self.rendered:
            self.rendered[count, chars] = self.render(self._at(count, chars))
        return self.rendered[count, chars]

    def _at(self, count: int, chars: int | None) -> PricedResult:
        """Return the answer with so many items and texts of at most so many characters, and with
        notes that say so.
        """
        shown = self.result.first(count) if count < self.total else self.result
        shorter = shown.shortened(chars) if chars else shown
        cut = f"{self.result.shortening} to fit max_tokens; whole with {self.result.whole_with}"
        notes = [*shorter.notes, *([cut] if shorter != shown else [])]
        if count == self.total:
            return shorter.model_copy(update={"notes": notes})
        rest, unit = self.params.after(count), f" {self.result.unit}" if self.result.unit else ""
        left_out = f"{count} of {self.total}{unit} fit max_tokens; {rest.hint}"
        return shorter.model_copy(update={"notes": [*notes, left_out], "cursor": rest.cursor})

    def first_that_fits(self, price: Price) -> Forms:
        """Return the best of the cut answers that fit: all items, most items, or one; the shortest
        where none does.
        """
        if price(self.whole) <= 1:
            return self.whole
        for length in () if self.result.has_passages else self._likely_lengths(price(self.whole)):
            forms = self.forms(self.total, length)
            if price(forms) <= 1:
                return forms
        fewer = self._most_items(READABLE_LENGTH if self.has_long_texts else None, price)
        if fewer is not None:
            return fewer
        for length in LAST_LENGTHS:
            forms = self.forms(min(self.total, 1), length)
            if price(forms) <= 1:
                break
        return forms

    def _likely_lengths(self, price: float) -> Sequence[int]:
        """Return the lengths of texts at which an answer may fit, by the parts of its text that are
        longer.
        """
        text = self.whole.text
        parts = map(len, text.split('"' if text.startswith("{") else "\n"))
        long = [size for size in parts if size > TEXT_LENGTHS[-1]]
        wanted = ESTIMATE * self.whole.text_tokens * BYTES_A_TOKEN * (1 - 1 / price)
        return [
            length
            for length in TEXT_LENGTHS
            if sum([size - length for size in long if size > length]) >= wanted
        ]

    def _most_items(self, chars: int | None, price: Price) -> Forms | None:
        """Return the answer with as many items as fit, by bisection from a guess; None where not
        even one does.
        """
        best: Forms | None = None
        low, high, count = 1, self.total - 1, int(self.total / price(self.whole))
        while low <= high:
            count = min(max(count, low), high)
            forms = self.forms(count, chars)
            if price(forms) <= 1:
                best, low = forms, count + 1
            else:
                high = count - 1
            count = (low + high) // 2
        return best
