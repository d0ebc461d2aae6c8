# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody with bad intentions, or a bad disk, makes of a good file: the same for the same seed everywhere."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

HTML = '"><script>owned=1</script><img src=x onerror=owned=2>'
# Of which no letter may reach a terminal, or an element or attribute a page.
TEXTS = [
    HTML,
    "</script><script>owned=3</script>",
    "<svg onload=owned=4>",
    "javascript:owned=5",
    "\x1b[2J\x1b]0;title\x07",
    "../../../../tmp/escaped",
    "/etc/passwd",
    "a\nschedlab: forged\r",
    "\u202egnp.exe",
    "\ud800",
    "\0",
    "",
    "x" * 5_000,
    "default",
    "{{7*7}} ${7*7} %s %n",
    "[/b] [link=file:///etc/passwd]x",
]
NUMBERS = [0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0, 0.5, float("nan"), float("inf"), True]
_OTHERS: list[Any] = [None, [], {}, [[]], {"": {}}, [0] * 300]
_PIECES = [
    *(text.encode("utf-8", "surrogatepass") for text in TEXTS),
    *(
        b"\xff\xfe",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b"[" * 3000,
        b'{"a":' * 3000,
        b'"\\ud800"',
        b'"',
        b"\n",
    ),
]
_NUMBER = re.compile(rb"\d+")


def of_bytes(good: bytes, seed: int, count: int) -> Iterator[bytes]:
    dice = random.Random(seed)
    for _ in range(count):
        data = good
        for _ in range(dice.randint(1, 3)):
            data = _changed(data, dice)
        yield data


def _changed(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice([1, 1, 8, 100, 3000]))
    kind = dice.randrange(6)
    if kind == 0:
        return data[:at] + bytes(dice.randrange(256) for _ in data[at:end]) + data[end:]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:at] + data[at:end] * 2 + data[end:]
    if kind == 3:
        return data[:at]
    number = _NUMBER.search(data, at)
    if kind == 4 and number:
        return data[: number.start()] + json.dumps(dice.choice(NUMBERS)).encode() + data[number.end() :]
    return data[:at] + dice.choice(_PIECES) + data[at:]


def of_json(good: Any, seed: int, count: int) -> Iterator[Any]:
    """Good data in which a value, at any depth, or a key is another."""
    for number in range(count):
        dice = random.Random(seed * 1_000_003 + number)
        data = json.loads(json.dumps(good))
        where = list(_places(data))
        for holder, key in dice.sample(where, min(len(where), dice.randint(1, 2))):
            _replace(holder, key, dice)
        yield data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    # Of a long list the first entries are as good as all.
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    for key, held in pairs:
        yield value, key
        yield from _places(held)


def _replace(holder: Any, key: Any, dice: random.Random) -> None:
    kind = dice.randrange(10)
    if kind == 0 and isinstance(holder, dict):
        holder.pop(key, None)
    elif kind == 1 and isinstance(holder, dict) and key in holder:
        holder[dice.choice(TEXTS)] = holder.pop(key)
    elif kind < 6:
        holder[key] = dice.choice(TEXTS)
    elif kind < 9:
        holder[key] = dice.choice(NUMBERS)
    else:
        holder[key] = dice.choice(_OTHERS)
