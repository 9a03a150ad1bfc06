"""Configuration files of assistants: where they are, and how an entry for Pinakes is written and removed."""
