"""A shelf opened as the app opens a catalogue, and tools behind a gate."""

from dataclasses import dataclass
from typing import Any

from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.recommend.recommender import Recommender
from stackroom.search.searcher import Searcher
from stackroom.tools.catalogue import OpenCatalogue
from support.texts import require_fitting, values_missing_from_text


def open_shelf(
    shelf: Any, embedder: Any = None, *, name: str = "", calibration: Any = None
) -> OpenCatalogue:
    """Return a catalogue over a shelf; its name is that of its spec unless another is given."""
    spec = shelf.spec
    return OpenCatalogue(
        name=name or spec.name,
        spec=spec,
        shelf=shelf,
        searcher=Searcher(spec=spec, embedder=embedder, calibration_of=lambda _model: calibration),
        recommender=Recommender(spec=spec, embedder=embedder, this_year=lambda: 2026),
    )


@dataclass(frozen=True, kw_only=True)
class Served:
    """Tools behind a gate."""

    gate: Gate

    def call(self, tool: str, /, *, principal: Principal = LOCAL_USER, **arguments: Any) -> Answer:
        """Call a tool; its text must say what its structured content does."""
        answer = self.gate.call(principal, tool, arguments)
        assert answer.is_error or values_missing_from_text(answer.structured, answer.text) == []
        return answer

    def ask(
        self, tool: str, /, *, principal: Principal = LOCAL_USER, **arguments: Any
    ) -> dict[str, Any]:
        """Call a tool that must answer as its schemas say, and return its structured content."""
        answer = self.call(tool, principal=principal, **arguments)
        assert answer.structured is not None, answer.text
        spec = self.gate.toolbox_of(principal).tools[tool]
        require_fitting(arguments, spec.input_schema)
        require_fitting(answer.structured, spec.output_schema)
        return answer.structured

    def refusal(self, tool: str, /, **arguments: Any) -> tuple[str | None, str]:
        """Call a tool, and return the code of its error and its text."""
        answer = self.call(tool, **arguments)
        return answer.error_code, answer.text
