"""The program that every rank runs: it says which rank it is, and on which machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.hosts.address import is_address

_MARK = "plink-placed"
# Of a machine with very many addresses, or of one that says anything at all.
_MAX_LINE = 1 << 16


@dataclass(frozen=True)
class Report:
    """What a rank said: its number, the name that its machine calls itself, its addresses."""

    rank: int
    hostname: str
    addresses: Sequence[str]


def program(rank_variable: str) -> list[str]:
    """The words of the program, for a launcher that tells the rank in an environment variable."""
    addresses = "$(hostname -I 2>/dev/null || ip -o addr show 2>/dev/null)"
    return ["sh", "-c", f'echo {_MARK} "${{{rank_variable}:-?}}" "$(uname -n)" {addresses}']


def parse_reports(output: str) -> list[Report]:
    """What the ranks said, among whatever the launcher printed beside it."""
    reports = []
    for line in output.splitlines():
        # Launchers may put something in front of what a rank prints.
        words = line[:_MAX_LINE].partition(_MARK)[2].split()
        if len(words) >= 2 and words[0].isascii() and words[0].isdigit() and len(words[0]) <= 9:
            addresses = [word.partition("/")[0] for word in words[2:]]
            known = [address for address in addresses if is_address(address)]
            reports.append(Report(int(words[0]), words[1], known))
    return reports
