"""Model of the time that collectives take, one at a time and several at once.

Shi et al. (2021) give a collective of m bytes a + b m (equation 3), and each of two at once
a + gamma b m (equation 9), with a constant gamma. But two cannot be faster than the wire: with
gamma = 1.5 messages of more than 2 a / b would exceed it. So here what is shared is the line, and
gamma follows from it, for each size.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Network:
    """Time of a collective, in seconds and seconds per byte.

    Alone, one of m bytes takes `latency_s + exclusive_s + s_per_byte * m`. Of several in flight,
    latencies pass at the same time; the line carries `exclusive_s + line_s_per_byte * m` of each,
    one after the other or shared.

    Args:
        latency_s: passes while others are in flight, too.
        exclusive_s: in which the line, or what feeds it, does nothing for others.
        s_per_byte: of one collective alone.
        line_s_per_byte: of all together: at most `s_per_byte`.

    Raises:
        ValueError: something is negative, or the line slower than one collective.
    """

    latency_s: float
    exclusive_s: float
    s_per_byte: float
    line_s_per_byte: float

    def __post_init__(self) -> None:
        if min(self.latency_s, self.exclusive_s, self.line_s_per_byte) < 0.0:
            raise ValueError("times of a network are not negative")
        if self.line_s_per_byte > self.s_per_byte:
            raise ValueError("all collectives together are as fast as one at least")

    @staticmethod
    def of_paper(a_s: float, b_s_per_byte: float, gamma: float, size_bytes: float) -> Network:
        """Build the network in which two at once, of one size, take what equation 9 says.

        Args:
            a_s: a of equation 3.
            b_s_per_byte: b of equation 3.
            gamma: from 1 to 2.
            size_bytes: at which gamma was measured.
        """
        together_s = gamma * b_s_per_byte * size_bytes
        line_s_per_byte = min(b_s_per_byte, together_s / (2.0 * size_bytes))
        return Network(a_s, 0.0, b_s_per_byte, line_s_per_byte)

    @property
    def startup_s(self) -> float:
        """Seconds of one collective without bytes: the papers' a."""
        return self.latency_s + self.exclusive_s

    def alone_s(self, size_bytes: float) -> float:
        """Return the seconds of one collective if nothing else is in flight."""
        return self.startup_s + self.s_per_byte * size_bytes

    def line_s(self, size_bytes: float) -> float:
        """Return the seconds that one collective occupies the line."""
        return self.exclusive_s + self.line_s_per_byte * size_bytes

    def gamma(self, size_bytes: float) -> float:
        """Return the factor by which two at once slow each other's bytes (equation 9)."""
        alone_s = self.alone_s(size_bytes)
        both_s = max(alone_s, self.latency_s + 2.0 * self.line_s(size_bytes))
        own_s = self.s_per_byte * size_bytes
        return 1.0 + (both_s - alone_s) / own_s if own_s else 1.0
