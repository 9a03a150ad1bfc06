"""Transports: bytes ↔ the gate, and nothing else."""
