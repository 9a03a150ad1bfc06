"""The catalogues that ship with Stackroom. They import `stackroom.api` and nothing else of it."""
