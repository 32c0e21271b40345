"""Numbers for bytes, alike wherever they are computed."""

import zlib

_MASK = 2**64 - 1


def mix_bits(value: int) -> int:
    """64 bits of which each depends on all (SplitMix64; Steele, Lea and Flood 2014, figure 17)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


def digest(data: bytes, salt: int) -> int:
    """Return the digest of bytes and a number of at most 32 bits."""
    return mix_bits(zlib.crc32(data) << 32 | salt & 0xFFFFFFFF)
