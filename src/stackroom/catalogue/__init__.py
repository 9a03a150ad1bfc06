"""Catalogue specs: a declaration, read from `catalogue.toml`, compiled to a frozen
`CatalogueSpec`.
"""
