"""What chunks, the way they are dealt to ports, and how they are aggregated are worth."""

from __future__ import annotations

from collections.abc import Sequence

from benchkit.hub.crowd import Times
from benchkit.hub.placements import WORKERS, keys_of, line_s
from benchkit.hub.setting import RATE_MBIT, SIZE_BYTES, Rack, setting
from benchkit.networks import NETWORKS, scale_lengths
from benchkit.report import Report

_SIZES_KB = (8, 32, 128, 512, 4096)
_DEFAULT_KB = 32
_HEADER = ("way", "s (least / median / most)", "over S/B")


def run(rounds: int, report: Report) -> None:
    """Measure and print."""
    vgg = list(NETWORKS["vgg16"]())
    share = SIZE_BYTES / 4 / sum(parameter.items for parameter in vgg)
    keys = [items for items in scale_lengths(vgg, share) if items]
    equal = keys_of(SIZE_BYTES // 4)
    rack = Rack(WORKERS, [[RATE_MBIT] * WORKERS, [RATE_MBIT]])
    with setting([rack]) as there:
        for ports, server in ((WORKERS, "r0s0"), (1, "r0s1")):
            there.open_hub(f"vgg-chunks-{ports}", [server], keys)
            there.open_hub(f"vgg-keys-{ports}", [server], keys, granularity="key")
        for size in _SIZES_KB:
            there.open_hub(f"chunk-{size}", ["r0s0"], equal, chunk_bytes=size << 10)
        there.open_hub("by-worker", ["r0s0"], equal, interfaces="worker")
        names = [f"vgg-{what}-{ports}" for ports in (WORKERS, 1) for what in ("chunks", "keys")]
        names += [f"chunk-{size}" for size in _SIZES_KB] + ["by-worker"]
        found = there.crowd.rounds(names, rounds)
    report.table(_HEADER, [_row(name, times) for name, times in found.items()], "Chunks")
    at = {name: times.median_s for name, times in found.items()}
    report.at_least("VGG-16, chunks over keys, k = 8", 4, at["vgg-keys-8"] / at["vgg-chunks-8"])
    report.at_least("VGG-16, chunks over keys, k = 1", 1.3, at["vgg-keys-1"] / at["vgg-chunks-1"])
    best = min(at[f"chunk-{size}"] for size in _SIZES_KB)
    report.at_least("default chunk of the best size", 0.95, best / at[f"chunk-{_DEFAULT_KB}"])
    gain = at["by-worker"] / at[f"chunk-{_DEFAULT_KB}"]
    report.say(f"Key by interface over worker by interface: {gain:.2f} (the paper: 1.43).")


def _row(name: str, times: Times) -> Sequence[str]:
    return name, times.text, f"{times.median_s / line_s():.2f}"
