"""Query → lexical ∥ vector → fuse → rerank → page. Each step is a pure function; `searcher` runs
them on a shelf.
"""
