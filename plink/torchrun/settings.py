"""Settings of plink's torchrun rendezvous, from `--rdzv-conf` and the environment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plink.base.arguments import suggest_nearest
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.formats import cluster as cluster_file
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.order import Order
from plink.renumber.host_identity import named_host
from plink.renumber.numbering import Basis
from plink.solvers.collectives.registry import ALGORITHMS

with lazy_imports():
    from plink.measure.probing import request

PROBE = "probe"

_OWN = ("order", "cluster", "keep", "host", "algorithm")
# Those of PyTorch's c10d rendezvous, and what torchrun adds by itself.
_PYTORCHS = (
    "close_timeout",
    "heartbeat_timeout",
    "is_host",
    "join_timeout",
    "keep_alive_interval",
    "keep_alive_max_attempt",
    "last_call_timeout",
    "read_timeout",
    "store_type",
    "rank",
    "timeout",
)


@dataclass(frozen=True)
class Settings:
    """Settings of one agent's rendezvous: order or cluster file, algorithm, and host name.

    Args:
        basis: what the order of hosts is found from.
        is_probed: whether hosts are measured that the basis does not have.
        keep: path of the cluster file that is renewed when hosts were measured; None for none.
        host: name of this host in these files; None to look.
        digest: hash of what the files say, to tell whether agents have the same.
    """

    basis: Basis = field(default_factory=Basis)
    is_probed: bool = False
    keep: str | None = None
    host: str | None = None
    digest: str = ""


def read_settings(config: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Read the settings in `--rdzv-conf`, and the order and cluster files that it names.

    Raises:
        WrongUseError: an option that there is not, that does not go with the others, or a file
            that cannot be read.
    """
    _refuse_unknown(config)
    order, cluster, keep = (config.get(name) for name in ("order", "cluster", "keep"))
    algorithm = config.get("algorithm")
    if order is None and cluster is None:
        raise WrongUseError(
            "--rdzv-conf has neither order=FILE, order=probe nor cluster=FILE",
            "order=order.json uses the file of plink order, order=probe measures the hosts",
        )
    is_probed = order == PROBE
    if keep is not None and not is_probed:
        raise WrongUseError(
            "keep=FILE needs order=probe, whose measurements it stores",
            "leave it out, or add order=probe",
        )
    if is_probed and cluster is not None:
        raise WrongUseError(
            "order=probe and cluster=FILE exclude each other",
            "order=probe,keep=FILE continues from a file, and updates it",
        )
    if algorithm is not None and order is not None and not is_probed:
        raise WrongUseError(
            f"algorithm={algorithm} and order=FILE exclude each other",
            "leave algorithm out: an order file is for the algorithm that it names",
        )
    if algorithm is not None and algorithm not in ALGORITHMS:
        hint = suggest_nearest(algorithm, ALGORITHMS) or "plink.algorithms() lists the algorithms"
        raise WrongUseError(f"no algorithm is called {algorithm!r}", hint)
    known = keep if is_probed and keep is not None and Path(keep).exists() else cluster
    read_order = None if order is None or is_probed else order_file.read_order(order)
    read_cluster = None if known is None else cluster_file.read_cluster(known)
    if is_probed and known is not None and read_cluster is not None:
        request.resume_options(read_cluster, known, "echo", {})
    return Settings(
        basis=Basis(read_order, read_cluster, algorithm or "ring"),
        is_probed=is_probed,
        keep=keep,
        host=named_host(config.get("host"), environment, "host"),
        digest=_digest(read_order, read_cluster),
    )


def _refuse_unknown(config: Mapping[str, Any]) -> None:
    known = (*_OWN, *_PYTORCHS)
    for name in config:
        if name not in known:
            hint = suggest_nearest(name, known) or f"plink's are {', '.join(_OWN)}"
            raise WrongUseError(f"--rdzv-conf has an unknown option {name!r}", hint)


def _digest(order: Order | None, cluster: Cluster | None) -> str:
    hosts = [] if order is None else [host.name for host in order.runs]
    words = [*hosts, "" if cluster is None else cluster.file_hash or ""]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
