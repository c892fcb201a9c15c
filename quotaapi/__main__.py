"""`python -m quotaapi`: argv -> Config -> the server."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from quotaapi import __version__
from quotaapi.commandline import Parser

_COMMANDS = {
    "serve": "run the API server",
    "audit": "check the accounts at every etcd revision",
    "register": "make a cluster serve the group through this server",
    "unregister": "undo that",
    "version": "print the version",
}


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = Parser("quotaapi", description="quotas for clusters, admitted exactly")
    commands = "\n".join(f"  {name:11} {text}" for name, text in _COMMANDS.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"commands:\n{commands}\n\n`quotaapi COMMAND --help` lists its options."
    parser.add_argument("command", choices=tuple(_COMMANDS), metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help(sys.stderr)
        return 2
    parsed = parser.parse_args(argv)
    if parsed.command == "version":
        print(__version__)  # noqa: T201 -- what the command is for
        return 0
    if parsed.command == "audit":
        # Imported here: the auditor needs none of the server, nor the server it.
        code: int = import_module("quotaapi.audit").run(parsed.arguments)
        return code
    if parsed.command in ("register", "unregister"):
        command = import_module("quotaapi.registration.command")
        done: int = command.run(parsed.command, parsed.arguments)
        return done
    # Until it serves; `server.collection` has the reasons.
    gc.disable()
    try:
        return _serve(parsed.arguments)
    finally:
        gc.enable()


def _serve(arguments: Sequence[str]) -> int:
    # Imported here, as the other commands are: most of a start is imports.
    from quotaapi import config, server

    try:
        chosen = config.parse(arguments, os.environ)
    except config.ConfigError as error:
        print(f"quotaapi serve: {error}", file=sys.stderr)  # noqa: T201 -- before logging is set up
        return 2
    return server.run(chosen, os.environ)


if __name__ == "__main__":
    sys.exit(main())
