"""Words that carry grammar rather than meaning. They are dropped from queries, never from what is indexed."""

from pinakes.text.analyser import query_tokens

FUNCTION_WORDS = """
a about above after again against all also although am among an and another any anyone anything are as at
be became because been before being below between both but by
can cannot could did do does doing done down during each either else enough etc even ever every
few for from further get gets getting give given go goes got had has have having he hence her here hers
herself him himself
his how however i if in into is it its itself just let like likely made make makes many may maybe me might
more most much must
my myself near neither no nor not now of off often on once one only onto or other others our ours ourselves out over own
per perhaps please quite rather really same seem seemed several shall she should since so some someone
something still such
than that the their theirs them themselves then there therefore these they this those though through thus to too toward
under until up upon us use used using very via
was we were what whatever when where whether which while who whom whose why will with within without would yet
you your yours yourself
i'm i'd i've i'll you're it's don't doesn't didn't isn't aren't wasn't can't won't what's that's there's let's
"""

FUNCTION_TOKENS = frozenset(query_tokens(FUNCTION_WORDS))
