"""The Python API: what `import stackroom` offers is public; everything else may change at any
time.
"""
