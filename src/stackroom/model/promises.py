"""What a shelf promises of its answers where they are not exact."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """The second tier of the shelf's contract; a shelf of the first tier has none, and is exact in everything."""

    recall_at_10: float = 0.97
    """The share of the ten records nearest to a vector that are found, on average, with and without filters."""
    totals_up_to: int = 10_000
    """Totals up to this number are exact; from it on, there are at least as many."""
    facets_up_to: int = 100_000
    """Values, and records in scope, are counted exactly up to this many records; of more, values in a sample."""

    def __str__(self) -> str:
        return (
            f"at least {self.recall_at_10:.0%} of the nearest records are found; totals are exact up to "
            f"{self.totals_up_to:,}, above that there may be more; values and figures of more than "
            f"{self.facets_up_to:,} records are of a sample"
        )
