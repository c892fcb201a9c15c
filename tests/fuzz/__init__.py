"""Garbage, on a whole server: what comes back is an answer, and nothing else happens."""
