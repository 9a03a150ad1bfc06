"""The filters of `judokon.search` and `judokon.random`, as a client writes them → conditions."""

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from stackroom.api import KIND_FIELD, AnyOf, Condition, InputError, NoneOf, Range, ToolParams
from stackroom_catalogues.judoka.rows import CARD, STATS, normalised_class

CARDS = AnyOf(KIND_FIELD, (CARD,))
SHOWN = AnyOf("visibility", ("shown",))
MEASURES = (*STATS, "average")
THRESHOLD = re.compile(r"\s*([A-Za-z_ -]+?)\s*(>=|<=|==|=|>|<|≥|≤)\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*")

_CODES = """
AFG af ALB al ALG dz DZA dz AND ad ANG ao AGO ao ARG ar ARM am ARU aw AUS au AUT at AZE az BAH bs BHS bs BAN bd BGD bd
BAR bb BRB bb BEL be BEN bj BIH ba BLR by BOL bo BRA br BUL bg BGR bg BUR bf BFA bf CAM kh KHM kh CAN ca CHI cl CHL cl
CHN cn CIV ci CMR cm COD cd COL co CRC cr CRI cr CRO hr HRV hr CUB cu CYP cy CZE cz DEN dk DNK dk DOM do ECU ec EGY eg
ESA sv SLV sv ESP es EST ee ETH et FIJ fj FJI fj FIN fi FRA fr GAB ga GBR gb GEO ge GER de DEU de GHA gh GRE gr GRC gr
GUA gt GTM gt HAI ht HTI ht HKG hk HON hn HND hn HUN hu INA id IDN id IND in IRI ir IRN ir IRL ie IRQ iq ISL is ISR il
ITA it JAM jm JOR jo JPN jp KAZ kz KEN ke KGZ kg KOR kr KOS xk XKX xk KSA sa SAU sa KUW kw KWT kw LAT lv LVA lv LBA ly
LBY ly LBN lb LIE li LTU lt LUX lu MAD mg MDG mg MAR ma MAS my MYS my MDA md MEX mx MGL mn MNG mn MKD mk MLI ml MLT mt
MNE me MON mc MCO mc MOZ mz MRI mu MUS mu NED nl NLD nl NEP np NPL np NGR ng NGA ng NOR no NZL nz OMA om OMN om PAK pk
PAN pa PAR py PRY py PER pe PHI ph PHL ph POL pl POR pt PRT pt PRK kp PUR pr PRI pr QAT qa ROU ro RSA za ZAF za RUS ru
RWA rw SEN sn SGP sg SLO si SVN si SRB rs SRI lk LKA lk SUI ch CHE ch SVK sk SWE se SYR sy THA th TJK tj TKM tm TPE tw
TWN tw TUN tn TUR tr UAE ae ARE ae UGA ug UKR ua URU uy URY uy USA us UZB uz VEN ve VIE vn VNM vn YEM ye ZAM zm ZMB zm
ZIM zw ZWE zw
"""

TWO_LETTERS = {found[0]: found[1] for found in re.findall(r"(\w{3})\s(\w\w)\b", _CODES)}
"""Three-letter code → two-letter code."""


def parse_threshold(text: str) -> Range:
    """Return the condition that a threshold such as `power>=8` states."""
    found = THRESHOLD.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a threshold; 'power>=8' or 'average>=7.5' is one")
    stat, sign, number = found.groups()
    if stat.lower() not in MEASURES:
        raise ValueError(f"no stat '{stat}' in {text[:60]!r}; stats: {', '.join(MEASURES)}")
    return _range(stat.lower(), sign, float(number))


def _range(stat: str, sign: str, number: float) -> Range:
    """Return the range of a comparison; ranges include their bounds, so a strict one begins at the next number."""
    match sign:
        case ">=" | "≥":
            return Range(stat, at_least=number)
        case "<=" | "≤":
            return Range(stat, at_most=number)
        case ">":
            return Range(stat, at_least=math.nextafter(number, math.inf))
        case "<":
            return Range(stat, at_most=math.nextafter(number, -math.inf))
    return Range(stat, at_least=number, at_most=number)


def _require_threshold(text: str) -> str:
    parse_threshold(text)
    return text


def _listed(value: Any) -> Any:
    """Split a text of several thresholds into a list."""
    return re.split(r"\s*(?:,|;|&&?|\band\b)\s*", value.strip()) if isinstance(value, str) else value


Threshold = Annotated[str, AfterValidator(_require_threshold)]


class CardFilters(ToolParams):
    """Conditions that every card meets."""

    country: str | None = Field(default=None, description="Name or code, of listCountries")
    rarity: Literal["Common", "Epic", "Legendary"] | None = None
    weight_class: str | None = Field(default=None, description="As -60 or +100")
    gender: Literal["male", "female"] | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    stats: Annotated[list[Threshold], BeforeValidator(_listed)] | None = Field(
        default=None, description="e.g. power>=8, average>=7.5"
    )

    def conditions(self) -> list[Condition]:
        """Return the filters as conditions."""
        if self.weight_min is not None and self.weight_max is not None and self.weight_min > self.weight_max:
            raise InputError(f"'filters': weightMin {self.weight_min:g} is above weightMax {self.weight_max:g}")
        found: list[Condition] = []
        if self.country and (country := self.country.strip()):
            code = two_letter_code(country)
            found.append(AnyOf("countryCode", (code,)) if code else AnyOf("country", (country,)))
        if self.rarity:
            found.append(AnyOf("rarity", (self.rarity,)))
        if self.weight_class and self.weight_class.strip():
            found.append(AnyOf("weightClass", (normalised_class(self.weight_class),)))
        if self.gender:
            found.append(AnyOf("gender", (self.gender,)))
        if self.weight_min is not None or self.weight_max is not None:
            found.append(Range("weight", self.weight_min, self.weight_max))
        return [*found, *(parse_threshold(text) for text in self.stats or ())]


def argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from."""
    name = "country" if condition.field == "countryCode" else condition.field
    return f"exclude.{name}" if isinstance(condition, NoneOf) else f"filters.{name}"


def two_letter_code(country: str) -> str | None:
    """Return the two-letter code that a short form means: `USA`, `U.S.A.`, `jpn`; None for any other text."""
    letters = country.replace(".", "").replace(" ", "").upper()
    if len(letters) == 2 and letters.isascii() and letters.isalpha():
        return "gb" if letters == "UK" else letters.lower()
    return TWO_LETTERS.get(letters)
