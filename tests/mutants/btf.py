# SPDX-License-Identifier: GPL-2.0-or-later
"""What a BPF object does, apart from where its source stood: two that agree in this are the same policy."""

import hashlib
import struct
from collections.abc import Iterator

# Bytes that follow a type of BTF for each of its vlen members, by kind, and those that follow it once.
_FOR_EACH = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
_ONCE = {1: 4, 3: 12, 14: 4, 17: 4}
_MEMBERS_HAVE_NAMES = {4, 5, 6, 13, 19}
_SYMBOLS = 2
_RELOCATIONS = 9


def essence(object_file: bytes) -> str:
    """A digest of code, data, relocations by name, and types by name; lines and texts of the source are left out."""
    sections = list(_sections(object_file))
    digest = hashlib.sha256()
    symbols, texts = next((body, sections[link][5]) for _, kind, link, _, _, body in sections if kind == _SYMBOLS)
    for name, kind, _, _, _, body in sections:
        if name == ".BTF":
            body = b"\0".join(_types(body))
        elif name.startswith((".debug", ".rel.debug", ".BTF", ".rel.BTF")) or name in (".strtab", ".symtab"):
            continue
        elif kind == _RELOCATIONS:
            body = b"\0".join(_relocations(body, symbols, texts))
        digest.update(f"{name} {len(body)} ".encode() + body)
    return digest.hexdigest()


def _sections(elf: bytes) -> Iterator[tuple[str, int, int, int, int, bytes]]:
    """Name, type, link, info, flags, bytes."""
    at, size, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, at + size * i) for i in range(count)]
    strings = heads[names][4]
    for name, kind, flags, _, offset, length, link, info, *_ in heads:
        body = b"" if kind == 8 else elf[offset : offset + length]
        yield _text(elf, strings + name), kind, link, info, flags, body


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _relocations(body: bytes, symbols: bytes, texts: bytes) -> Iterator[bytes]:
    for offset, info in struct.iter_unpack("<QQ", body):
        name, *_ = struct.unpack_from("<IBBHQQ", symbols, 24 * (info >> 32))
        rest = symbols[24 * (info >> 32) + 4 : 24 * (info >> 32) + 24]
        yield struct.pack("<QI", offset, info & 0xFFFFFFFF) + rest + _text(texts, name).encode()


def _types(btf: bytes) -> Iterator[bytes]:
    """Every type with its names in place of their offsets, as the texts of source lines stand between them."""
    head, types, types_length, strings = struct.unpack_from("<IIII", btf, 4)
    at, end = head + types, head + types + types_length

    def named(at: int, length: int) -> bytes:
        (name,) = struct.unpack_from("<I", btf, at)
        return _text(btf, head + strings + name).encode() + b"\0" + btf[at + 4 : at + length]

    while at < end:
        (info,) = struct.unpack_from("<I", btf, at + 4)
        kind, members = info >> 24 & 31, info & 0xFFFF
        yield named(at, 12)
        at += 12
        each = _FOR_EACH.get(kind, 0)
        for _ in range(members if each else 0):
            yield named(at, each) if kind in _MEMBERS_HAVE_NAMES else btf[at : at + each]
            at += each
        yield btf[at : at + _ONCE.get(kind, 0)]
        at += _ONCE.get(kind, 0)
