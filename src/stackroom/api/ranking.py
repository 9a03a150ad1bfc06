"""The ranking side of the public API: for a package that ranks and explains by rules of its own, or
recommends.
"""

from stackroom.model.hits import EVIDENCE_AT, Ranking
from stackroom.model.record import Key
from stackroom.recommend.recommender import Recommendation, Recommendations
from stackroom.search.names import NameChoice
from stackroom.search.question import in_order, list_records
from stackroom.search.ranked import Ranked
from stackroom.search.result_set import Part, by_catalogue
from stackroom.shelf.port import ShelfReader
from stackroom.text.preferences import Preferences
from stackroom.tools.reading import read_question

__all__ = ["EVIDENCE_AT", "Key", "NameChoice", "Part", "Preferences", "Ranked", "Ranking"]
__all__ += ["Recommendation", "Recommendations", "ShelfReader", "by_catalogue", "in_order"]
__all__ += ["list_records", "read_question"]
