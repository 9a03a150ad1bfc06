"""Search inside PostgreSQL, for catalogues whose index no server can hold.

PostgreSQL has the words, filters, names and vectors of every record and finds the candidates; scores are computed here,
as the embedded shelf computes them. What differs from it is written in `model.hits.Promises`.
"""
