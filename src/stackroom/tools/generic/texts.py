"""The text content of `search`, `fetch` and `similar`.

The first two answer in JSON, as connectors of research assistants expect it; `similar` in lines.
"""

from collections.abc import Iterator

import orjson

from stackroom.tools.generic.shapes import ShownRecord, SimilarResult
from stackroom.tools.spec import ToolResult


def json_text(result: ToolResult) -> str:
    """Return an answer as JSON, the same object as its structured content."""
    return orjson.dumps(result.model_dump(mode="json", by_alias=True)).decode()


def similar_text(result: SimilarResult) -> str:
    """Return the text of `similar`."""
    found = [line for number, one in enumerate(result.results, start=1) for line in _found_lines(number, one)]
    return "\n".join([*(found or ["nothing is similar"]), *result.remarks])


def _found_lines(number: int, found: ShownRecord) -> Iterator[str]:
    label = f", {found.relevance}" if found.relevance else ""
    yield f"{number}. {found.title} [{found.id}] {found.score}{label}"
    for line in (*found.text.splitlines(), *([f"from: {found.origin}"] if found.origin else []), found.url):
        yield f"   {line}"
