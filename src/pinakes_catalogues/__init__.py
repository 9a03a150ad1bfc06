"""The catalogues that ship with Pinakes. They import `pinakes.api` and nothing else of it."""
