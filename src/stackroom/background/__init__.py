"""Every thread and child process: named tasks with a state that can be listed, and the only way to
start either.
"""
