"""A `catalogue.toml` inferred from the columns of a table."""
