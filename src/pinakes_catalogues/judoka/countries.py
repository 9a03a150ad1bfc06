"""Three-letter codes of countries, as scoreboards have them (IOC) or as ISO 3166 has them, and other short forms."""

import re

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


def two_letter_code(country: str) -> str | None:
    """Return the two-letter code that a short form means: `USA`, `U.S.A.`, `jpn`; None for any other text."""
    letters = country.replace(".", "").replace(" ", "").upper()
    if len(letters) == 2 and letters.isascii() and letters.isalpha():
        return "gb" if letters == "UK" else letters.lower()
    return TWO_LETTERS.get(letters)
