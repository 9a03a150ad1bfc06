"""A catalogue as files to ship: manifest, records, vectors, checksums."""
