"""The catalogue of research papers: rows of paper metadata into records, and the search over them."""
