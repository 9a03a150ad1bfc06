"""What `scripts/golden_calls.py` is made of: clients, scenes of calls, masks, comparison."""
