"""Kinds, schemas, quantities, patches, errors: pure data and pure functions.

Nothing here does I/O, knows asyncio, or imports another of the project's packages.
"""
