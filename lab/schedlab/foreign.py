# SPDX-License-Identifier: GPL-2.0-or-later
"""What came from somewhere else, a file or a machine: JSON that is none, texts that are no line, formats to come."""

import json
from typing import Any, NoReturn

from schedlab.errors import InputError

# Of what is told of something else in one line.
_MOST_LETTERS = 300


class NewerFormat(InputError):
    """A file of a schedlab that is newer than this one. Whoever finds one leaves it as it is."""


def parse(text: str | bytes) -> Any:
    """A JSON text; NaN and infinity are none. Raises ValueError, and nothing else, whatever the text is."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("too deep") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def printable(text: str, most: int = _MOST_LETTERS) -> str:
    """On one line and short, whatever it holds: no letter moves a terminal's cursor."""
    return one_line(text[:most]).strip()


def one_line(text: str) -> str:
    """The same of any length, where it is: a space for each letter that is none."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def lines(text: str) -> str:
    """The same, but that line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


def is_newer(found: object, known: int) -> bool:
    """Whether this is the number of a format to come; what is no number is damage."""
    return type(found) is int and found > known


def newer(name: object, found: object, known: int) -> NewerFormat:
    return NewerFormat(
        f"{name}: its format is {found}, and this schedlab knows {known}: update schedlab; the file stays as it is"
    )


def need_format(name: object, found: object, known: int) -> None:
    """Raises NewerFormat for a format to come, InputError for any other that is not known."""
    if is_newer(found, known):
        raise newer(name, found, known)
    if type(found) is not int or found != known:
        raise InputError(f"{name}: key 'format': expected {known}, got {one_line(repr(found))[:_MOST_LETTERS]}")
