"""Short texts by likeness, among a list that fits in memory."""

from collections.abc import Iterable

from rapidfuzz import fuzz

from pinakes.text.normalise import fold_name

SURE = 0.75


def like_words(wanted: str, texts: Iterable[str]) -> list[str]:
    """Return the texts that contain the wanted words or are spelt much like them, best first."""
    folded = fold_name(wanted)
    scored = [(_likeness(folded, fold_name(text)), text) for text in texts]
    return [text for likeness, text in sorted(scored, key=lambda pair: (-pair[0], pair[1])) if likeness >= SURE]


def _likeness(wanted: str, text: str) -> float:
    if wanted and wanted in text:
        return 1.0
    return fuzz.ratio(wanted, text) / 100
