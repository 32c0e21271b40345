"""Removal of the prefixes that launchers and log collectors put before each line of output.

Ranks (srun --label, mpiexec -l, mpirun --tag-output, torchrun), hosts (pdsh, DeepSpeed), pods
(kubectl, stern, docker compose), times and colours: all of them can be combined.
"""

from __future__ import annotations

import re

# Each prefix is taken off at most so many times: `[pod/x] 2026-01-02T03:04:05Z [0] 0: text`.
_MOST_PREFIXES = 6

_COLOURS = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_ZONE = r"(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?"
_DAY = r"(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]?[0-9])"
_PROCESS = r"(?:[\w.-]{1,255} [\w./-]{1,255}\[[0-9]{1,10}\]:(?: |$))"
# A shape that no benchmark's own line has, so that it is taken off wherever it stands first.
_SHAPES = (
    # Open MPI and PRRTE: [1,0]<stdout>: and [prterun-host-3812@1,0][host:77]<stdout>: , with a time
    rf"(?:{_DAY} {_CLOCK} [0-9]{{4}}:? ?)?(?:\[[^\[\]\n]{{1,200}}\])*<std(?:out|err|diag)>:? ?",
    # kubectl logs --prefix
    r"\[(?:pod|job|deployment|statefulset|daemonset|replicaset|service)/[^\[\]\s]{1,500}\] ?",
    # MPICH and Intel MPI, torchrun, torchelastic
    r"\[[0-9]{1,7}\](?::|(?= )|$) ?",
    r"\[[a-z_]{1,20}[0-9]{1,7}\]: ?",
    # srun --label
    r"[0-9]{1,7}:(?: |$)",
    # Ray
    r"\([\w. ,=-]{0,100}\bpid=[0-9]{1,10}[^()\n]{0,100}\)(?: |$)",
    # times of kubectl, docker, GitHub, ts, journald
    rf"\[?{_DAY}[T ]{_CLOCK}{_ZONE}(?: [0-9]{{4}})?\]?:?(?:[ \t]|$)",
    rf"[A-Z][a-z]{{2}} [ 0-9]?[0-9] {_CLOCK}(?:$| {_PROCESS}?)",
    rf"(?:\[{_CLOCK}\]|{_CLOCK}):?(?:[ \t]|$)",
    r"\[ {0,12}[0-9]{1,12}\.[0-9]{1,9}\](?: |$)",
    r"[0-9]{10}\.[0-9]{1,9}(?: |$)",
)
_SHAPE = re.compile(rf"[ \t]{{0,20}}(?:{'|'.join(_SHAPES)})")
# A name could be anything, so that it counts only if a benchmark's line follows it somewhere.
_WORD = r"[\w.@/-]{1,255}"
_NAMES = re.compile(rf"({_WORD}(?:: ?|[ \t]{{1,40}}\| ?| {_WORD}(?: |$)))")
_BENCHMARK_LINE = re.compile(r"[ \t]*(?:#|START mpiGraph\b)")


def strip_prefixes(text: str) -> str:
    """Remove colours and launchers' prefixes from the lines of a log.

    Lines stay lines: the n-th one is the n-th one of `text`.
    """
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    lines = [_without_shapes(line) for line in text.replace("\r\n", "\n").split("\n")]
    # A rank's label may stand behind a host's name.
    for _ in range(2):
        names = {
            found[1].strip()
            for line in lines
            if (found := _NAMES.match(line))
            and _BENCHMARK_LINE.match(_without_shapes(line[found.end() :]))
        }
        if not names:
            break
        lines = [_without_name(line, names) for line in lines]
    return "\n".join(lines)


def _without_shapes(line: str) -> str:
    at = 0
    for _ in range(_MOST_PREFIXES):
        found = _SHAPE.match(line, at)
        if found is None or found.end() == at:
            break
        at = found.end()
    return line[at:]


def _without_name(line: str, names: set[str]) -> str:
    found = _NAMES.match(line)
    if found is None or found[1].strip() not in names:
        return line
    return _without_shapes(line[found.end() :])
