"""Text → vectors: a local model without torch, or an OpenAI-compatible endpoint, behind one small
port.
"""
