"""The English of preference sentences: tables of words and phrases, patterns for numbers and titles.

The words of a catalogue (its tags, kinds and units) come in a vocabulary. Phrases are lower case, with single spaces
and straight apostrophes; a table is written as phrases separated by commas.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stackroom.text.normalise import pattern
from stackroom.text.preference_pieces import (
    Bound,
    Cue,
    Lead,
    Mood,
    PieceJoin,
    Plain,
    SentencePiece,
    Title,
    Variety,
    What,
)

LONGEST_TITLE: Final = 200


def phrases(written: str) -> frozenset[str]:
    """Return the phrases of a table."""
    return frozenset(" ".join(phrase.split()) for phrase in written.split(","))


def each(what: What, written: str) -> dict[str, What]:
    """Return a table that maps each phrase to the same thing."""
    return dict.fromkeys(phrases(written), what)


def by_bound(**written: str) -> dict[str, Bound]:
    """Return a table from phrase to bound, from one list of phrases for each bound."""
    return {phrase: Bound[name] for name, table in written.items() for phrase in phrases(table)}


def described_by(written: str) -> dict[str, str]:
    """Return a table from word to description, from lines of a description and its words."""
    lines = (line.split(":") for line in written.strip().splitlines())
    return {word: description.strip() for description, words in lines for word in phrases(words)}


NUMBERS: Final[Mapping[str, int]] = {
    **{"single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15},
    **{"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "dozen": 12, "a dozen": 12},
}
LOOSE_NUMBERS: Final[Mapping[str, int]] = {"few": 5, "couple of": 2, "couple": 2}

DECADES: Final[Mapping[str, int]] = {"sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}
DECADE_PARTS: Final[Mapping[str, tuple[int, int]]] = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}

YEAR_BOUNDS: Final = by_bound(
    BELOW="before, from before, pre, prior to, older than, earlier than, <",
    AT_MOST="until, till, up to, up until, up through, <=, ≤",
    WITHIN="in, from, of, during, between, from between, in the year, released in, made in, aired in",
    AROUND="around, circa, about, roughly, ~, from around",
    AT_LEAST="since, starting, starting in, starting from, in or after, on or after, >=, ≥",
    ABOVE="after, from after, post, newer than, later than, more recent than, younger than, >",
)
YEAR_ENDINGS: Final = by_bound(
    AT_MOST="or earlier, or older, or before, and earlier, and older, and before, or prior",
    AT_LEAST="""or later, or newer, or after, or more recent, and later, and newer, and after, and up, on,
        onward, onwards, and onward, and onwards, to now, to present, until now, +, - present, -present""",
)
LENGTH_BOUNDS: Final = by_bound(
    BELOW="under, below, less than, fewer than, shorter than, lower than, <",
    AT_MOST="at most, up to, max, max., maximum, maximum of, a maximum of, a max of, within, <=, ≤",
    WITHIN="exactly, precisely, only, just, between, from",
    AROUND="around, about, roughly, approximately, approx, approx., circa, ~",
    AT_LEAST="at least, min, min., minimum, minimum of, a minimum of, >=, ≥",
    ABOVE="over, above, more than, longer than, greater than, >",
)
LENGTH_ENDINGS: Final = by_bound(
    AT_MOST="or less, or fewer, or under, or below, or shorter, max, maximum, at most, tops",
    AROUND="or so, ish, -ish",
    AT_LEAST="or more, or longer, or over, or above, and up, and above, plus, +, minimum, at least",
)
BOUNDS: Final[Mapping[str, Bound]] = {**YEAR_BOUNDS, **YEAR_ENDINGS, **LENGTH_BOUNDS, **LENGTH_ENDINGS}

RECENT_YEARS: Final[Mapping[str, int]] = {
    **dict.fromkeys(phrases("recent, recently, more recent, latest, in recent years, new, newer, newish"), 5),
    **dict.fromkeys(phrases("modern, more modern, contemporary"), 15),
}
"""Words for new, and the number of years that they cover."""
OLD_UNTIL: Final = 1999
OLD_WORDS: Final = phrases("old, older, classic, classics, retro, vintage, old-school, old school, oldies")
SHORT_WORDS: Final = phrases("short, shorter, shortish, brief, bite-sized")
LONG_WORDS: Final = phrases("long, longer, lengthy, long-running, long running")

NEGATIONS: Final = phrases("not, nothing, no, isn't, aren't, never, don't be, without, nothing that's")
DEGREES: Final = phrases("too, overly, so, that, very, as, really, super, much, a lot of, many, excessively")
STRUCTURE: Final[Mapping[str, What]] = {
    **each(
        Cue(Mood.NOT, takes_unknown=True),
        """no, no more, without, without any, w / o, avoid, avoiding, excluding, exclude, except, except for, other
        than, apart from, skip, minus, sans, free of, don't want, do not want, don't like, do not like, dislike,
        hate, unlike, can't stand, cannot stand, tired of, sick of, not into, not interested in, not a fan of, must
        not have, shouldn't have, should not have, anything but, everything but, anything except, stay away from""",
    ),
    **each(
        Cue(Mood.NOT, takes_unknown=False),
        """not, nothing, none, none of, neither, never, non, isn't, aren't, doesn't, don't, wasn't, must not be,
        mustn't be, shouldn't be, should not be, can't be, cannot be, not be""",
    ),
    **{f"{negation} {degree}": Cue(Mood.LESS, takes_unknown=False) for negation in NEGATIONS for degree in DEGREES},
    **each(Cue(Mood.LESS, takes_unknown=True), "less, less of, fewer, not much, not many, lighter on"),
    **each(
        Cue(Mood.MUST, takes_unknown=False),
        """only, strictly, exclusively, solely, purely, must be, has to be, have to be, needs to be, need to be,
        should only be, nothing but, required, is required, are required, is a must, are a must, a must, must-have,
        is mandatory, are mandatory, is essential, are essential""",
    ),
    **each(Cue(Mood.MUST, takes_unknown=True), "must have, must include, has to have, have to have, needs to have"),
    **each(
        Cue(Mood.ANY, takes_unknown=True),
        """don't mind, do not mind, wouldn't mind, would not mind, fine with, ok with, okay with, open to, not
        necessarily, doesn't have to be, don't have to be, does not have to be, do not have to be, doesn't need to be,
        need not be, needn't be, doesn't matter if, don't care if, don't care about, can also be, may also be""",
    ),
    **each(
        Cue(Mood.ANY, takes_unknown=False),
        """is fine, are fine, is ok, are ok, is okay, are okay, is also fine, are also fine, is alright, are alright, is
        acceptable, are acceptable, is optional, are optional, is welcome, are welcome, would be fine, would be ok, is
        allowed, are allowed, isn't a problem, is no problem, are no problem, doesn't bother me, don't bother me""",
    ),
    **each(Cue(Mood.LESS, takes_unknown=True), "rather than, instead of"),
    **each(Lead.HAVING, "with, with more, more, more of, featuring, features, having, has, have, including, lots of"),
    **each(Lead.ABOUT, "about, revolving around, centered on, centred on, focused on, focusing on, exploring"),
    **each(Lead.SETTING, "in, set in, set on, set during, takes place in, take place in, taking place in"),
    **{"and": PieceJoin.AND, "&": PieceJoin.AND, "plus": PieceJoin.AND, "as well as": PieceJoin.AND},
    **{"or": PieceJoin.OR, "nor": PieceJoin.OR, "/": PieceJoin.OR, ",": PieceJoin.COMMA},
    **each(Plain.STOP, "., ;, !, ?, (, ), :, –, —, but, though, although, yet, however, while, instead"),
    **each(
        Variety(),
        """surprise me, something different, something completely different, anything different, more variety, more
        varied, unexpected, out of my comfort zone, off the beaten path, mix it up""",
    ),
    # Phrases that would be misread as the start of something else, such as a comparison without its number.
    **each(
        Plain.WORD, "more than, less than, fewer than, no more than, no less than, at least, in japanese, in english"
    ),
}
"""Words of grammar; a catalogue's vocabulary cannot override them."""
HOISTED_CUES: Final = frozenset(
    {"only", "exclusively", "required", "a must", "must-have"}
    | {phrase for phrase, what in STRUCTURE.items() if isinstance(what, Cue) and phrase.startswith(("is ", "are "))}
    | {"would be fine", "would be ok", "isn't a problem", "doesn't bother me", "don't bother me"}
)
"""Cues that may follow their object: 'movies only', 'romance is a must', 'horror is fine'."""
PREFERRING: Final = phrases("prefer, preferred, preferably, preference, favor, favour, choose, pick, more")
COMPARING: Final = phrases("over, to, than")
"""Words between a preferred thing and the other: 'I'd prefer fantasy over sci-fi', 'more comedy than drama'."""

FILLER: Final = phrases(
    """a, an, the, some, any, something, anything, stuff, thing, things, one, ones, kind of, sort of, a bit, a bit of,
    a little, bit, little, slightly, somewhat, much, many, a lot, a lot of, lots, very, really, quite, rather,
    pretty, truly, so, too, as, also, again, just, even, still, please, pls, plz, thanks, thank you, thx, hi, hello,
    hey, maybe, perhaps, possibly, probably, ideally, preferably, prefer, preferred, preference, definitely, well,
    i, i'd, i'm, i am, i've, me, my, we, we'd, us, our, you, your, it, it's, its, they, them, that, that's, that is,
    this, these, those, which, who, what, there, is, are, be, been, was, were, am, do, does, did, would, could,
    should, can, will, may, might, must, want, wants, wanted, need, needs, like, likes, love, loves, enjoy, enjoyed,
    looking, look, find, give, show, show me, recommend, recommendation, recommendations, suggest, suggestion,
    suggestions, get, watch, see, read, hear, listen, to, for, of, from, on, at, if, then, such, how, feel, feeling,
    feels, mood, in the mood for, in general, in particular, in mind, in total, in length, in short, interested in,
    into, let's, let us, go, go for, made, released, aired, airing, came out, come out, that came out,
    shows, title, titles, story, stories, plot, tone, vibe, vibes, atmosphere, setting, themes, theme,
    elements, style, type, kind, sort, genre, content, usual, typical, other, another, else, good, nice, great,
    best, better, decent, ok, okay, fine, bonus points for, as long as, not only, not just,
    no matter, no preference, whatever, tagged, side, focus, all, every, both, either, mostly, mainly,
    generally, overall, basically, especially, because, since i, if possible, possible, when, where, set, with,
    time, right now, tonight, today, now, not sure"""
)
EDGES: Final = phrases(
    """a, an, the, some, any, a bit, a bit of, a little, bit, little, slightly, much, many, a lot, a lot of, lots, very,
    really, quite, rather, of, please, pls, plz, thanks, thank you, thx, too, also, maybe, perhaps, if possible, i, is,
    are, it, that, which, ideally, preferably, then, kind of, sort of, even, just, again, to, be, stuff, things, as,
    want, i'd, prefer, something, anything"""
)
"""Padding that is stripped from both ends of a description."""

TONE_NOUNS: Final = phrases(
    "tone, mood, vibe, vibes, atmosphere, feel, feeling, story, stories, plot, themes, setting, style, ending, endings"
)
"""Nouns that belong to the tone word before them: 'darker tone'."""

TONES: Final[Mapping[str, str]] = described_by(
    """
    dark, grim and serious: dark, darker, darkest, grim, grimmer, bleak, bleaker, grimdark
    gritty, raw and realistic: gritty, grittier, raw, hard-hitting, hard-boiled, hardboiled
    light-hearted and cheerful: light, lighter, light-hearted, lighthearted, cheerful, happy, happier, fun, joyful
    funny, humorous and comedic: funny, funnier, humorous, hilarious, comedic, comical, amusing, witty, humor, humour
    silly, absurd and zany: silly, sillier, absurd, absurdist, zany, wacky, goofy, over-the-top, ridiculous
    sad, melancholic: sad, sadder, saddest, melancholic, melancholy, sorrowful, somber, sombre
    depressing and hopeless: depressing, depressive, hopeless, nihilistic, despair
    tragic, with a heartbreaking fate: tragic, tragedy, heartbreaking, heart-wrenching, tear-jerking, tearjerker
    bittersweet and nostalgic: bittersweet, nostalgic, nostalgia, wistful, poignant
    emotional and moving: emotional, moving, touching, heartfelt, cathartic
    mature, for adults: mature, adult, grown-up, for adults, for grown-ups, adult-oriented
    for children and families: for kids, for children, kid-friendly, child-friendly, family-friendly, childish, all ages
    action-packed, with fights: action, action-packed, fights, battles, explosive
    slow-paced and quiet: slow, slower, slow-paced, slow-burn, quiet, quieter, unhurried, meditative
    fast-paced and energetic: fast, faster, fast-paced, energetic, high-energy, frantic, dynamic, upbeat
    cozy, warm and comforting: cozy, cosy, cozier, cosier, comfy, comforting, warm, warmer
    wholesome and heartwarming: wholesome, heartwarming, heart-warming, sweet, sweeter, tender, gentle, gentler
    relaxing and calm: relaxing, relaxed, calm, calmer, calming, chill, soothing, peaceful, healing, laid-back, mellow
    uplifting, hopeful and inspiring: uplifting, hopeful, inspiring, inspirational, optimistic, feel-good, positive
    scary, frightening: scary, scarier, frightening, terrifying, creepy, creepier, spooky, eerie
    disturbing and unsettling: disturbing, unsettling, twisted, shocking, harrowing
    violent and brutal: violent, violence, brutal, brutality, bloody, bloodier
    gory, with blood and mutilation: gore, gory, gorier
    tense and suspenseful: tense, suspenseful, suspense, thrilling, gripping, edge of your seat, intense
    mysterious and enigmatic: mysterious, enigmatic, cryptic
    psychological, delving into the mind: psychological, mind games, cerebral, introspective
    mind-bending, with twists: mind-bending, mindbending, trippy, plot twists, twists, twisty, unpredictable
    surreal and dreamlike: surreal, dreamlike, dreamy, weird, weirder, strange, bizarre, avant-garde, experimental
    philosophical and thought-provoking: philosophical, thought-provoking, deep, deeper, profound, existential
    complex and intricate: complex, intricate, layered, complicated, clever, smart, smarter, intelligent
    romantic, about love: romantic, love story, love stories
    sexy and sensual: sexy, sensual, steamy, erotic, lewd, fanservice, fan-service, sexual
    epic, on a grand scale: epic, grand, sweeping, large-scale
    realistic and grounded: realistic, grounded, down-to-earth, believable
    whimsical and magical: whimsical, magical, enchanting, fairy-tale, fairytale
    beautiful, visually stunning: beautiful, gorgeous, stunning
    strong, well-developed characters: character-driven, character development, good characters, great characters
    strong female lead: strong female lead, strong female protagonist, strong heroine, badass heroine
    dystopian, an oppressive society: dystopian, dystopia
    post-apocalyptic, after the end of civilisation: post-apocalyptic, postapocalyptic, post-apocalypse, apocalyptic
    set in space: in space, in outer space, outer space, set in space, set in outer space, spacefaring
    set in the future: in the future, futuristic, far future, near future, set in the future
    set in the past, historical: in the past, historical, period piece, period drama, set in the past
    medieval, with castles and knights: medieval, middle ages, in the middle ages, knights
    set in the present day: modern day, modern times, in modern times, in the present, present day, modern setting
    set underwater, in the sea: underwater, undersea, under the sea, deep sea
    rural, in the countryside: rural, countryside, in the countryside, pastoral
    cute and adorable: cute, cuter, adorable, kawaii
    """
)
"""Each tone or setting word, and the description to embed in its place."""
UNCHECKED: Final = phrases(
    """underrated, hidden gem, hidden gems, obscure, lesser-known, lesser known, niche, overlooked, popular, unpopular,
    well-known, well known, famous, mainstream, acclaimed, critically acclaimed, highly rated, high rated, top rated,
    best rated, well rated, highly-rated, top-rated, high rating, high ratings, good ratings, trending, cult classic"""
)
"""Phrases about fame and ratings, which a description does not tell."""
KNOWN: Final = frozenset(
    (*STRUCTURE, *UNCHECKED, *TONES, *FILLER, *RECENT_YEARS, *OLD_WORDS, *SHORT_WORDS, *LONG_WORDS)
)


def alternation(phrases: Iterable[str]) -> str:
    """Return a pattern for any of these phrases, the longest first, each a whole word."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(
        re.escape(phrase).replace(r"\ ", r"\s{1,3}") + (r"\b" if phrase[-1].isalnum() else "")
        for phrase in longest_first
    )


# Gaps are bounded, so that no pattern backtracks without limit.
GAP: Final = r"\s{0,3}"
DASH_GAP: Final = r"[\s-]{0,3}"
TO: Final = rf"{GAP}(?:-|–|—|\b(?:to|and|or|through|till|until)\b){GAP}"
NUMBER: Final = rf"(?:[0-9]{{1,9}}(?:\.[0-9]{{1,2}})?(?![0-9])|(?:{alternation(NUMBERS)}))"
DECADE: Final = rf"(?:(?:early|mid|late)[\s-]{{1,2}})?(?:'?(?:1[5-9]|20)?[0-9]0'?s|{alternation(DECADES)})"
MOMENT: Final = (
    rf"(?:{DECADE}|(?:1[5-9]|20)[0-9]{{2}})(?!\w|-[0-9]{{1,3}}\b|[\s-](?:style|aesthetic|vibe|feel|look|nostalgia))"
)

YEARS: Final = pattern(
    rf"(?=[\w'<>≤≥~])(?<![\w.])(?<!their )(?<!his )(?<!her )(?:(?P<before>{alternation(YEAR_BOUNDS)}){DASH_GAP})?"
    rf"(?:the\s)?(?P<low>{MOMENT})(?:{TO}(?:the\s)?(?P<high>{MOMENT}))?"
    rf"(?:{GAP}(?P<after>{alternation(YEAR_ENDINGS)})(?!{GAP}(?:the\s)?'?[0-9]))?",
    re.IGNORECASE,
)
LENGTHS: Final = pattern(
    rf"(?=[\w<>≤≥~])(?<![\w.])(?:(?P<before>{alternation(LENGTH_BOUNDS)}){GAP})?(?P<low>{NUMBER})(?:{TO}(?P<high>{NUMBER}))?"
    rf"(?:{GAP}(?P<middle>{alternation(LENGTH_ENDINGS)}))?{DASH_GAP}(?P<unit>[^\W\d_]{{1,30}})(?!\w)"
    rf"(?:{GAP}(?P<after>{alternation(LENGTH_ENDINGS)}))?(?:\s(?:long|in length|in total|total|each)\b)?",
    re.IGNORECASE,
)
SIGN: Final = r"[A-Z]{0,2}[$£¥₹€]"
"""A currency that is written before its number, such as `$` and `CA$`."""
AMOUNT: Final = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,9})(?:\.[0-9]{1,2})?(?![0-9.,]?[0-9]|\w)"
PRICES: Final = pattern(
    rf"(?=[\w<>≤≥~$£¥₹€])(?<![\w.])(?:(?P<before>{alternation(LENGTH_BOUNDS)}){GAP})?(?P<unit>{SIGN}){GAP}(?P<low>{AMOUNT})"
    rf"(?:{TO}(?:{SIGN})?{GAP}(?P<high>{AMOUNT}))?(?:{GAP}(?P<after>{alternation(LENGTH_ENDINGS)}))?",
    re.IGNORECASE,
)
SIZES: Final = pattern(
    rf"\b(?P<size>{alternation((*SHORT_WORDS, *LONG_WORDS))})\s{{1,3}}(?P<unit>[^\W\d_]{{2,30}})(?!\w)", re.IGNORECASE
)
OLDER_THAN: Final = phrases("older than, more than, over, at least")
AGE: Final = pattern(
    rf"\b(?:(?P<not>not|no|nothing|none|never|isn't|aren't)\s{{1,3}})?(?:(?:much|any)\s)?"
    rf"(?P<than>older than|newer than|younger than|more than|less than|over|under|at least|at most)\s{{1,3}}"
    rf"(?P<count>{NUMBER})\s(?P<unit>years?|decades?)(?:(?<=years)|(?<=year)|(?<=decade)|(?<=decades))"
    rf"(?:\s(?:old|ago)\b|(?<=years)(?!\s?\w))",
    re.IGNORECASE,
)
AUDIENCE: Final = pattern(
    r"(?:\b(?:age[\s-])?(?:appropriate|suitable|fit|safe|good|ok|okay|fine|right|made|meant)\s{1,3})?\bfor\s{1,3}"
    r"(?:(?:an?|my|our|the|his|her|their|kids|children|some)\s{1,3}){0,2}"
    rf"(?:(?P<age>{NUMBER})[\s-]{{1,3}}years?[\s-]{{1,3}}olds?\b"
    rf"|(?:ages?|aged|age of)\s{{1,3}}(?P<ages>{NUMBER})(?:{TO}(?:{NUMBER}|up|older|above))?\+?)"
    r"(?:\s{1,3}(?:son|daughter|kid|kids|child|children|boy|girl|boys|girls|nephew|niece|brother|sister)\b)?",
    re.IGNORECASE,
)
RELEASED: Final = (
    r"(?:aired|airing|airs|air|released|premiered|premiering|premieres|came out|broadcast|started|starting)"
)
SEASONS: Final = pattern(
    rf"\b(?:(?:that\s)?(?:{RELEASED}\s{{1,3}})?(?:in|from|of|during|for)\s{{1,3}}(?:the\s{{1,3}})?)?"
    r"(?P<dated>[^\W\d_]{3,12})(?:\s{1,3}season)?(?:,?\s{1,3}(?:of|in))?,?(?=\s{1,3}(?:1[5-9]|20)[0-9]{2}\b)"
    rf"|\b{RELEASED}\s{{1,3}}(?:in|during)\s{{1,3}}(?:the\s{{1,3}})?(?P<released>[^\W\d_]{{3,12}})\b"
    r"(?:\s{1,3}season\b)?",
    re.IGNORECASE,
)
UNITLESS: Final = pattern(
    rf"(?:^|(?<=[,;.(])|(?<=[,;.(]\s)|(?<=\bbut\s)|(?<=\band\s)|(?<=\bwith\s))(?P<before>{alternation(LENGTH_BOUNDS)})"
    rf"{GAP}(?P<low>[0-9]{{1,3}}|{alternation(NUMBERS)})(?={GAP}(?:$|[,;.)!?]|\b(?:but|and)\b))",
    re.IGNORECASE,
)
LATELY: Final = pattern(
    rf"\b(?:(?:from|in|within|over|during|of)\s)?(?:the\s)?(?P<which>last|past|previous|this)\s"
    rf"(?:(?P<count>{NUMBER}|{alternation(LOOSE_NUMBERS)})\s)?(?P<unit>years?|decades?)\b",
    re.IGNORECASE,
)
SET_IN_YEARS: Final = pattern(
    rf"\b(?:set|takes? place|taking place|happening)\s(?:in|during|around)\s(?P<said>(?:the\s)?{MOMENT}"
    r"(?:\s(?-i:[A-Z])\w{0,20})?)",
    re.IGNORECASE,
)
REFERENCE: Final = pattern(
    r"\b(?:(?P<like>like)|similar to|in the (?:vein|style|spirit) of|along the lines of|reminiscent of|comparable to"
    r"|(?:in )?the same (?:vein|vibe|style) as)\s{1,3}"
    r"(?!(?:this|that|these|those|them|it|something|anything|when|what|how|to)\b)",
    re.IGNORECASE,
)
LIKE_IS_A_VERB: Final = pattern(
    r"(?<![\w'])(?:i|i'd|we|we'd|you|they|would|really|also|don't|do not|didn't|to|feel)\s{1,3}\Z", re.IGNORECASE
)
QUOTED: Final = pattern(r"\"[^\"]{1,200}\"|'(?:[^']|'(?=\w)){1,200}'(?!\w)")
NEXT_QUOTED: Final = pattern(r"(?:\s{0,3}(?:,|\band\b|\bor\b|&)){1,2}\s{0,3}(?=[\"'])", re.IGNORECASE)
AFTER_TITLE: Final = pattern(
    r",|;(?=\s|\Z)|[\n\0]|(?<!\bdr)(?<!\bmr)(?<!\bmrs)(?<!\bst)(?<!\bvs)(?<!\bvol)\.\s|\b(?:but|except|without)\b"
    r"|\b(?:and|or) (?:not?|nothing|without|something like|like|similar to)\b|\bwith (?:more|less|fewer|no)\b"
    r"|\b(?:after|before|since|until|under|over|from|between|post|pre)[ -](?:the )?'?[0-9]|\bplease\b",
    re.IGNORECASE,
)
TOKEN: Final = pattern(r"non(?=-)|[^\W_]+(?:['&-][^\W_]+)*|[.,;:!?()/&–—](?![.,;:!?()/&–—])", re.IGNORECASE)
STRAIGHT: Final = str.maketrans("’‘“”„", '\'\'"""')


def limited(
    bound: Bound, low: float, high: float, *, spread: float, step: float = 1
) -> tuple[float | None, float | None]:
    """Return the minimum and maximum that a bound at low to high allows, in whole numbers or in steps."""
    low, high = min(low, high), max(low, high)
    limits: dict[Bound, tuple[float | None, float | None]] = {
        Bound.BELOW: (None, round(low - step, 2)),
        Bound.AT_MOST: (None, high),
        Bound.WITHIN: (low, high),
        Bound.AROUND: (max(low - spread, 0), high + spread),
        Bound.AT_LEAST: (low, None),
        Bound.ABOVE: (round(high + step, 2), None),
    }
    return limits[bound]


def phrase_key(said: str | None) -> str:
    """Return words in the spelling of the tables."""
    return " ".join((said or "").lower().split())


def moment_years(said: str) -> tuple[int, int]:
    """Return the first and last year of '2016', '90s', 'early 2000s' or 'late nineties'."""
    *part, name = re.findall(r"[a-z0-9]+", said.lower().replace("'", ""))
    if name.isdigit():
        return int(name), int(name)
    decade = DECADES.get(name) or int(name.removesuffix("s"))
    if decade < 100:
        decade += 1900 if decade >= 30 else 2000
    first, last = DECADE_PARTS[part[0]] if part else (0, 9)
    return decade + first, decade + last


def number(said: str) -> float:
    """Return the value of digits or of a number word."""
    key = phrase_key(said).replace(",", "")
    known = NUMBERS.get(key) or LOOSE_NUMBERS.get(key)
    if known is not None:
        return known
    return int(float(key)) if float(key).is_integer() else float(key)


def bound_of(*said: str | None) -> Bound:
    """Return the bound of the first of these phrases that has one, else an exact bound."""
    keys = (phrase_key(one) for one in said)
    return next((BOUNDS[key] for key in keys if key in BOUNDS), Bound.WITHIN)


def longest_by_first(known: Iterable[str]) -> dict[str, int]:
    """Return the length in words of the longest known phrase that starts with each word."""
    longest: dict[str, int] = {}
    for phrase in known:
        parts = phrase.replace("-", " ").split()
        if len(parts) > 1:
            longest[parts[0]] = max(longest.get(parts[0], 1), len(parts))
    return longest


def spellings(phrase: str) -> Iterator[str]:
    """Yield the phrase and its variants: with and without hyphens, and in the singular."""
    yield phrase
    if "-" in phrase:
        yield phrase.replace("-", " ")
        yield phrase.replace("-", "")
    if " " in phrase:
        yield phrase.replace(" ", "-")
    if phrase.endswith("ies"):
        yield phrase[:-3] + "y"
    if phrase.endswith("s"):
        yield phrase[:-1]


def title_spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of titles from here: one up to the next clause, or several in quotes."""
    quoted = QUOTED.match(text, start)
    if quoted is None:
        stop = AFTER_TITLE.search(text, start, start + LONGEST_TITLE)
        yield start, stop.start() if stop else min(len(text), start + LONGEST_TITLE)
    while quoted is not None:
        yield quoted.span()
        following = NEXT_QUOTED.match(text, quoted.end())
        quoted = QUOTED.match(text, following.end()) if following else None


def title_pieces(text: str) -> Iterator[SentencePiece]:
    """Yield the titles in the text; the first includes the words that introduce it."""
    position = 0
    while head := REFERENCE.search(text, position):
        position = head.end()
        if head["like"] and LIKE_IS_A_VERB.search(text[max(0, head.start() - 12) : head.start()]):
            continue
        for start, end in title_spans(text, head.end()):
            position = end
            title = text[start:end].strip(" \t\r\n.,;:?\"'")
            if title:
                begin = head.start() if start == head.end() else start
                yield SentencePiece(begin, start + len(text[start:end].rstrip()), Title(title))
