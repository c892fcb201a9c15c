"""Names and uids that nobody has used: the sources that the composition root injects."""

import random
import uuid

SUFFIX_LENGTH = 5
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""apimachinery's: no vowels, no digits that look like letters, so that no word comes out."""

_MAX_BASE = 63 - SUFFIX_LENGTH
"""A generated name also fits a label's value."""

NAME_ATTEMPTS = 8
"""How many names a generateName may try: with a million objects of one prefix all of them are
taken once in a thousand creates."""


def new_uid() -> str:
    return str(uuid.uuid4())


def random_suffix() -> str:
    """Five letters. Nothing secret: a name that is taken is only tried again."""
    return "".join(random.choices(_ALPHABET, k=SUFFIX_LENGTH))  # noqa: S311 - see above


def generated_name(base: str, suffix: str) -> str:
    return base[:_MAX_BASE] + suffix
