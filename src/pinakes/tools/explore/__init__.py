"""One result set of a catalogue as the page explores it: hits, facets, keys, and what the query was understood as."""
