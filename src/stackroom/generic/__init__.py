"""The tools that serve every catalogue: search, fetch, similar, browse, recommend; aggregates,
explanations, maps.
"""
