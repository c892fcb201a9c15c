"""Measures what docs/performance.md tells, and writes it there. `python -m hack.bench --help`."""
