"""What all commands' option parsers have in common."""

import argparse
from collections.abc import Iterable
from errno import EACCES, EISDIR
from os import R_OK, access, strerror
from pathlib import Path
from typing import NoReturn

from quotaapi import __version__


class Parser(argparse.ArgumentParser):
    """A wrong option is one line that says what is wrong and where the options are listed."""

    def __init__(self, prog: str, *, description: str = "", epilog: str = "") -> None:
        super().__init__(prog, description=description, epilog=epilog, allow_abbrev=False)
        self.add_argument("--version", action="version", version=__version__)

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` lists the options\n")


def whole(text: str) -> int:
    """An argparse type: 0, 1, 2, …"""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 0 and more")
    return int(text)


def positive(text: str) -> int:
    """An argparse type: 1, 2, …"""
    number = whole(text)
    if not number:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def file_faults(files: Iterable[tuple[str, Path]]) -> list[str]:
    """One line for each `(option, path)` that names a file which cannot be read."""
    faults = []
    for option, path in files:
        try:
            # Not opened: a pipe may be read once.
            if path.is_dir():
                raise IsADirectoryError(EISDIR, strerror(EISDIR))
            path.stat()
            if not access(path, R_OK):
                raise PermissionError(EACCES, strerror(EACCES))
        except OSError as error:
            faults.append(f"{option} {path}: {error.strerror}")
    return faults
