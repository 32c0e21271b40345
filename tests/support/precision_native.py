"""The agent's own rule of early stopping, compiled for the length of a test run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_AGENT = Path(__file__).parents[2] / "probes" / "echo" / "agent"
_DRIVER = Path(__file__).with_name("precision_driver.cpp")


class NativeRule:
    """What `benchkit.precision_twin` is, answered by the compiled code."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def looks_until(self, count: int) -> list[int]:
        return [int(word) for word in self._ask(f"looks {count}").split()]

    def half_width_ppm(self, samples_ns: Sequence[int], percentile: float, looks: int) -> int:
        samples = " ".join(map(str, samples_ns))
        return int(self._ask(f"width {percentile!r} {looks} {samples}"))

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


def compiler() -> str | None:
    """A C++ compiler, which who installs plink from its sources has."""
    return shutil.which("c++") or shutil.which("g++")


@contextmanager
def native_rule(folder: Path) -> Iterator[NativeRule]:
    """The compiled rule. It ends with its standard input, hence with this process."""
    program = folder / "precision-driver"
    sources = [_DRIVER, _AGENT / "precision.cpp", _AGENT / "statistics.cpp"]
    command = [compiler() or "c++", "-std=c++17", "-O1", "-I", _AGENT, *sources, "-o", program]
    subprocess.run(command, check=True)
    pipe = subprocess.PIPE
    with subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield NativeRule(process)
        finally:
            process.kill()
