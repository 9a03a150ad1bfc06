"""Priced answers: an answer is cut to what the caller can pay for, and says how to get the rest.

An answer has two forms, text and structured content, and a client shows its model one of them. Each form stays within
`max_tokens`, where a token is taken as four bytes. Long texts and lists are shortened first, then results are left out
from the end; passages are kept whole, so of them there are fewer. The cursor of a cut answer continues where it ends.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.errors import InputError
from pinakes.tools.spec import NotedResult, ToolParams, ToolResult

DEFAULT_TOKENS = 2_500
"""The budget of a call that states neither a budget nor a number of results."""
LEAST_TOKENS = 100
MOST_TOKENS = 100_000
BYTES_A_TOKEN = 4

TEXT_LENGTHS = (600, 240, 120)
"""The lengths to which long texts are shortened before results are left out."""
READABLE_LENGTH = 240
"""The length of long texts where results are left out."""
LAST_LENGTHS = (4_000, 2_000, 1_000, 600, 240, 120, 60)
"""The lengths that are tried for a single result that is too long by itself."""

CURSOR = re.compile(r"[1-9]\d{0,6}")

ItemT = TypeVar("ItemT", bound=BaseModel)
ValueT = TypeVar("ValueT")


class PricedParams(ToolParams):
    """The arguments of a tool with a budget for its answer."""

    sized_by: ClassVar[tuple[str, ...]] = ("limit",)
    """The arguments that say how much is wanted: a call that has one gets all of it, unless it states a budget."""

    max_tokens: int | None = Field(default=None, alias="max_tokens", ge=LEAST_TOKENS, le=MOST_TOKENS)

    @property
    def tokens(self) -> int | None:
        """The budget in force; None where there is none."""
        if self.max_tokens is not None:
            return self.max_tokens
        return None if self.model_fields_set.intersection(self.sized_by) else DEFAULT_TOKENS


class PagedParams(PricedParams):
    """The arguments of a tool whose answer is a list that can be continued."""

    cursor: str | None = None

    @property
    def start(self) -> int:
        """The number of items that were seen already; InputError for a cursor that is none."""
        if self.cursor is None:
            return 0
        if not CURSOR.fullmatch(self.cursor):
            raise InputError("'cursor' is not valid here; give that of the last answer, or start again without it")
        return int(self.cursor)


class PricedResult(NotedResult):
    """An answer that can be cut: a list of items, of which fewer or shorter ones may be shown.

    An answer of another shape overrides `item_count`, `first` and `shortened`.
    """

    paged: ClassVar[str] = "results"
    """The name of the list."""
    unit: ClassVar[str] = ""
    """The word for the items in notes, as in "3 of 10 papers fit"."""
    long_texts: ClassVar[tuple[str, ...]] = ()
    """The fields of an item that may be shortened: texts, and lists whose first values say most."""
    whole_with: ClassVar[str] = "a greater max_tokens"
    """The way to what was shortened."""
    has_passages: ClassVar[bool] = False
    """Whether the long texts are passages, so that fewer whole ones are better than more that are cut."""

    cursor: Annotated[str | None, SkipJsonSchema()] = Field(default=None, exclude_if=lambda cursor: cursor is None)
    """Continues the list; None where it ends."""

    @property
    def item_count(self) -> int:
        """The number of items."""
        return len(getattr(self, self.paged))

    def first(self, count: int) -> Self:
        """Return the answer with its first items only."""
        return self.model_copy(update={self.paged: getattr(self, self.paged)[:count]})

    def shortened(self, chars: int) -> Self:
        """Return the answer with its long texts cut to a number of characters."""
        items = [shorten_texts(item, self.long_texts, chars) for item in getattr(self, self.paged)]
        return self.model_copy(update={self.paged: items})


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Both forms of an answer."""

    structured: dict[str, Any]
    text: str

    @cached_property
    def tokens(self) -> float:
        """The price of the longer form; that of the structured one as the longest JSON that may be sent."""
        return max(len(json.dumps(self.structured)), len(self.text.encode())) / BYTES_A_TOKEN


def fit_answer(result: ToolResult, params: BaseModel, render: Callable[[ToolResult], Forms]) -> Forms:
    """Return both forms of an answer, cut to the budget of the call where it has one."""
    whole = render(result)
    tokens = params.tokens if isinstance(params, PricedParams) else None
    if tokens is None or not isinstance(result, PricedResult) or whole.tokens <= tokens:
        return whole
    cut = _Cut(result=result, start=params.start if isinstance(params, PagedParams) else None)
    return _first_that_fits(cut, tokens, render)


def shorten_texts(item: ItemT, names: Sequence[str], chars: int) -> ItemT:
    """Return an item with these texts and lists cut to a number of characters."""
    return item.model_copy(update={name: _shortened(getattr(item, name), chars) for name in names})


def shorten_list(values: Sequence[ValueT], chars: int) -> list[ValueT]:
    """Return the first values that have at most so many characters together as JSON; at least one."""
    sizes = accumulate(len(_as_json(value)) for value in values)
    return [value for value, size in zip(values, sizes, strict=True) if size <= chars] or list(values[:1])


def _shortened(value: Any, chars: int) -> Any:
    if isinstance(value, str):
        return shorten(value, chars)
    return shorten_list(value, chars) if isinstance(value, list | tuple) else value


def _as_json(value: object) -> str:
    return value.model_dump_json() if isinstance(value, BaseModel) else json.dumps(value, ensure_ascii=False)


def shorten(text: str, chars: int) -> str:
    """Return a text cut at a blank before so many characters, with a mark where something was left out."""
    if len(text) <= chars:
        return text
    words = text[: chars + 1].rsplit(None, 1)
    return f"{words[0][:chars] if words else ''} …"


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """An answer that is to be cut, and where its list starts; None where it cannot be continued."""

    result: PricedResult
    start: int | None

    def at(self, count: int, chars: int | None) -> PricedResult:
        """Return the answer with so many items and texts of at most so many characters, and with notes that say so."""
        shown = self.result.first(count) if count < self.result.item_count else self.result
        shorter = shown.shortened(chars) if chars else shown
        cut = f"long texts and lists are cut to fit max_tokens; whole with {self.result.whole_with}"
        notes = [*self._left_out(count), *([cut] if shorter != shown else [])]
        cursor = {"cursor": self._cursor(count)} if count < self.result.item_count else {}
        return shorter.model_copy(update={"notes": [*shorter.notes, *notes], **cursor})

    def _left_out(self, count: int) -> list[str]:
        total = self.result.item_count
        if count == total:
            return []
        cursor = self._cursor(count)
        rest = f"the rest with cursor '{cursor}'" if cursor else "more with a greater max_tokens"
        unit = f" {self.result.unit}" if self.result.unit else ""
        return [f"{count} of {total}{unit} fit max_tokens; {rest}"]

    def _cursor(self, count: int) -> str | None:
        return None if self.start is None or not self.start + count else str(self.start + count)


def _first_that_fits(cut: _Cut, tokens: int, render: Callable[[ToolResult], Forms]) -> Forms:
    """Return the best of the cut answers that fit; the shortest where none does."""
    total = cut.result.item_count
    chars = None if cut.result.has_passages else READABLE_LENGTH
    for length in () if cut.result.has_passages else TEXT_LENGTHS:
        forms = render(cut.at(total, length))
        if forms.tokens <= tokens:
            return forms
    fewer = _most_items(cut, chars, tokens, render)
    if fewer is not None:
        return fewer
    one = min(total, 1)
    shorter = (render(cut.at(one, length)) for length in LAST_LENGTHS)
    return next((forms for forms in shorter if forms.tokens <= tokens), render(cut.at(one, LAST_LENGTHS[-1])))


def _most_items(cut: _Cut, chars: int | None, tokens: int, render: Callable[[ToolResult], Forms]) -> Forms | None:
    """Return the answer with as many items as fit, by bisection; None where not even one does."""
    best: Forms | None = None
    low, high = 1, cut.result.item_count - 1
    while low <= high:
        middle = (low + high) // 2
        forms = render(cut.at(middle, chars))
        if forms.tokens <= tokens:
            best, low = forms, middle + 1
        else:
            high = middle - 1
    return best
