"""One `plink probe` of simulated hosts, in a process of its own: what it took, as JSON.

python -m benchkit.programs.simulated_probe HOSTS:ROUNDS [granted]

`granted` lets the hosts share a machine, so that the coordinator grants each meeting.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from plink.probes.hosts.hostlist import ListedHost
    from plink.probes.reach import Reached


def main() -> None:
    """Probe, and tell."""
    hosts, _, rounds = sys.argv[1].partition(":")
    print(json.dumps(probe_simulated(int(hosts), rounds, is_granted="granted" in sys.argv[2:])))


def probe_simulated(hosts: int, rounds: str, *, is_granted: bool) -> dict[str, Any]:
    """`plink probe` of simulated hosts in this process: its `facts`."""
    # Only here: who starts this measures other processes, and shall stay small.
    from benchkit.simulated import Behaviour, simulated_reach  # noqa: PLC0415
    from plink.cli import run as plink  # noqa: PLC0415
    from plink.measure.probing import request  # noqa: PLC0415

    behaviour = Behaviour(one_machine=is_granted)

    def reach(listed: Sequence[ListedHost], *_: object, **__: object) -> Reached:
        return simulated_reach(listed, behaviour, seed=1)

    folders = tempfile.TemporaryDirectory(prefix="plink-bench-")
    with folders as folder, mock.patch.object(request, "reach", reach):
        listed, out = Path(folder, "hosts.txt"), Path(folder, "cluster.json")
        listed.write_text("\n".join(f"10.9.{i >> 8}.{i & 255}" for i in range(hosts)))
        began = time.monotonic()
        # 3: some hosts failed, as they shall.
        if plink(["probe", str(listed), "-o", str(out), "--rounds", rounds]) not in (0, 3):
            raise SystemExit(f"error: plink probe failed with {hosts} simulated hosts")
        seconds = time.monotonic() - began
        return facts(out, seconds, resource.getrusage(resource.RUSAGE_SELF))


def facts(out: Path, seconds: float, used: resource.struct_rusage) -> dict[str, Any]:
    """What a run took that wrote this file, and what reading it takes."""
    from plink.formats import cluster as cluster_file  # noqa: PLC0415

    began = time.monotonic()
    cluster = cluster_file.read_cluster(str(out))
    reading_s = time.monotonic() - began
    rtt = cluster_file.require_rtt(cluster, str(out))
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "hosts": len(cluster.hosts),
        "rounds": rtt.options.get("rounds", "all"),
        "pairs": int((rtt.samples > 0).sum()),
        "probing_s": rtt.seconds,
        "seconds": seconds,
        "processor_s": used.ru_utime + used.ru_stime,
        "reading_s": reading_s,
        "file_bytes": out.stat().st_size,
        # Kilobytes. Writing and reading in one process count together.
        "memory_kb": max(used.ru_maxrss, own.ru_maxrss),
    }


if __name__ == "__main__":
    main()
