"""The server: command line, HTTP, REST registry, authentication, controllers."""

__version__ = "0.1.0"
