"""A valid file of every kind, small, and with everything in it that such a file can have."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from autotune.logs import write_log
from bench.results import comparison
from plink.base.errors import EXIT_PARTIAL
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster, document
from plink.formats.clients import FitSample, SizeSpread, build_exact_estimate, build_free_client
from plink.formats.groups import GroupRow, LinkFacts, Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.measurements import NO_ROUTE, BandwidthMeasurement, Failure, RouteMeasurement
from plink.formats.structs import encode
from show.racks import racks
from timeline.files import write_timelines

# Must never be shown. It is in every secret file, valid or not.
SECRET = "hushhushhushhush-3f9a"

# Reaches nobody, and hands a host's name to a shell, as careless configurations do.
SSH_CONFIG = """\
Host *
  ProxyCommand sh -c "nc %h %p"
  UserKnownHostsFile ~/known_hosts
"""

_TEXTS = {
    "hosts": "h00 slots=4\nme@h[01-03]\n[2001:db8::1]:2222  # the last\nh05 h06:22\n",
    "truth": "gpu00 gpu01 gpu02\ngpu03 gpu04 gpu05\n",
    "csv": "us,a,b,c\na,,22.5,30\nb,21,,31.25\nc,30,31,\n",
    "pairs": "source,destination,bytes,gbit_s\na,b,1048576,9.5\nb,a,1048576,9.25\n",
    "mpigraph": "mpiGraph\tv1.4\nSTART\n"
    "\tn0:0\tn1:1\nn0:0\t0.000\t941.230\nn1:1\t940.000\t0.000\nSTOP\n",
    "osu": "# pair: a b\n# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n"
    "1024 300.5\n1048576 1100.25\n",
    "network": "latency_us = [10, 25, 60]\nhost_gbit_s = 0.4\nburst_bytes = 262144\n"
    '[[groups]]\nname = "r1"\nhosts = "n[1-2]"\nuplink_gbit_s = 0.4\n'
    '[[groups]]\nname = "r2"\nhosts = "n3, n4"\n'
    '[[rows]]\nname = "row"\ngroups = ["r1"]\nuplink_gbit_s = 0.8\n'
    "[clients.openmpi]\noverhead_us = 5\nserialised = 0.75\n",
    "goal": "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 7 cpu 0\nl2: calc 500\n"
    "l2 requires l1\n}\nrank 1 {\nl1: recv 1000b from 0 tag 7\n}\n",
    "ssh_config": SSH_CONFIG,
    "secret": f"{SECRET}\n",
    "identity": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n"
    "-----END OPENSSH PRIVATE KEY-----\n",
    "nics": "h00 0000:00:08.0 10.1.0.1/24 10.1.0.254 02:00:00:00:00:01\n",
}

KINDS = ("cluster", "order", "plan", "comparison", "log", "timeline", *_TEXTS)


def path_of(kind: str, folder: Path) -> Path:
    """Where the valid file of a kind is."""
    endings = {"network": ".toml"}
    return folder / f"{kind}{endings.get(kind, '')}" if kind in _TEXTS else folder / f"{kind}.json"


def write_all(folder: Path) -> dict[str, bytes]:
    """Write a valid file of every kind into the folder; their contents."""
    found = racks(2, 3, seed=4)
    names = found.cluster.names
    size = len(names)
    far = found.rack[:, None] != found.rack
    hops = np.where(far, 3.0, 1.0)
    gbit_s = np.where(far, 4.5, 9.5)
    for matrix in (hops, gbit_s):
        np.fill_diagonal(matrix, np.nan)
    hosts = [replace(host, user="me", port=22, slots=2) for host in found.cluster.hosts]
    whole = replace(
        found.cluster,
        hosts=[replace(hosts[0], ssh_address="gpu00.example"), *hosts[1:]],
        made_from="sha256:0",
        bandwidth=BandwidthMeasurement(
            gbit_s=gbit_s,
            retransmits=np.full((size, size), np.nan),
            tool="iperf3",
            options={"duration_s": 1.0},
        ),
        routes=RouteMeasurement(
            hops=hops,
            route_of=np.where(far, 0, NO_ROUTE),
            routes=[("10.0.1.1", None)],
            tool="trace",
            notes=["a note"],
            failures=[Failure(names[0], "was silent", names[1])],
        ),
        groups=[
            Group(f"r{rack}", [names[i] for i in np.flatnonzero(found.rack == rack)])
            for rack in (0, 1)
        ],
        uplinks=UplinkMeasurement(uplinks=[Uplink("r0", 1.5, None, 2.0, True)], tool="uplinks"),
        links=LinkFacts(1 << 18, [GroupRow("row", ["r0", "r1"], 3.0)]),
        clients=[
            replace(
                build_free_client("openmpi"),
                burst_bytes=build_exact_estimate(1e5),
                processor_s_per_gb=build_exact_estimate(1.5),
                spreads=[SizeSpread(1 << 20, 0.1)],
                shared_cores=2,
                versions={"Open MPI": "4.1.4"},
                started="2026-01-01T00:00:00+00:00",
                samples=[FitSample("ring", names[:2], 1 << 20, [0.5, 0.25])],
            )
        ],
    )
    for kind, text in _TEXTS.items():
        path_of(kind, folder).write_text(text)
    made = {kind: str(path_of(kind, folder)) for kind in KINDS}
    cluster.write_cluster(made["cluster"], whole)
    _plink("order", made["cluster"], "--algo", "ring", "--time-limit", "30", "-o", made["order"])
    _plink("plan", made["cluster"], "--kind", "2lha", "--size", "1MB", "-o", made["plan"])
    document.write_bytes(made["comparison"], document.dump(encode(comparison("n1: died"))))
    write_log(Path(made["log"]))
    # Some windows of it are enough, and sooner read.
    log = Path(made["log"])
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:14]))
    write_timelines(folder, 1)
    (folder / "rank0.json").replace(made["timeline"])
    return {kind: Path(path).read_bytes() for kind, path in made.items()}


def _plink(*words: str) -> None:
    # One host of the cluster was not reached, of which standard error tells.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = run(list(words))
    if code not in (0, EXIT_PARTIAL):
        raise RuntimeError(f"plink {json.dumps(words)} made no valid file")
