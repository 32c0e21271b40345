"""A number for bytes, alike wherever it is computed."""

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 2**64 - 1


def fnv(data: bytes, start: int = _OFFSET) -> int:
    """FNV-1a of 64 bits (Fowler, Noll and Vo, as in RFC 9923), on from `start`."""
    value = start
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value
