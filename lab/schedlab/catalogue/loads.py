# SPDX-License-Identifier: GPL-2.0-or-later
"""Load levels that count in a machine's CPUs: the workload language's expressions, of which `cpus` is the only name."""

import ast
import operator
import re

from schedlab.errors import InputError

# A file's expressions are tried with so many CPUs when it is read, as the runners do.
TRIAL_CPUS = 4
EXPECTED = "positive integers and expressions of 'cpus' with + - * / % and parentheses"

_WORDS = re.compile(r"(?:\s|[0-9][0-9_]*|cpus\b|[-+*/%()])*")
# Division rounds down there, too.
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def at(loads: list[int | str], cpus: int, where: str) -> list[int]:
    """The levels on so many CPUs, the least first; `where` is what errors call the list."""
    return sorted({load if isinstance(load, int) else _level(load, cpus, where) for load in loads})


def check(loads: object, where: str) -> list[int | str]:
    """A list as a file has it."""
    if not isinstance(loads, list) or not loads or not all(_is_level(load) for load in loads):
        raise InputError(f"{where}: expected a list of {EXPECTED}, got {loads!r}")
    at(loads, TRIAL_CPUS, where)
    return loads


def _is_level(load: object) -> bool:
    return isinstance(load, str) or (type(load) is int and load > 0)


def _level(text: str, cpus: int, where: str) -> int:
    """At least 1: half of one CPU is one."""
    try:
        if not _WORDS.fullmatch(text):
            raise ValueError
        return max(1, _value(ast.parse(text.strip(), mode="eval").body, cpus))
    except ZeroDivisionError as error:
        raise InputError(f"{where}: expected divisors above 0, got {text!r} with {cpus} CPUs") from error
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: expected {EXPECTED}, got {text!r}") from error


def _value(node: ast.expr, cpus: int) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name():
            return cpus
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, cpus)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            divisor = _value(right, cpus)
            if divisor <= 0 and isinstance(op, ast.Div | ast.Mod):
                raise ZeroDivisionError
            return _OPERATORS[type(op)](_value(left, cpus), divisor)
    raise ValueError
