"""The clients that people use, on a whole server."""
