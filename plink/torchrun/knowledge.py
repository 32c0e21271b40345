"""What agents have measured, kept in the job's store: agent 0 of a later round may be another."""

from __future__ import annotations

import zlib

from plink.base.expanding import expand
from plink.engine.store import Store, get_all, peek
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.unpacking import MOST_BYTES

# PyTorch's store takes no more than 8 MiB at once.
_PART_BYTES = 4 << 20
_KEY = "cluster"


class Knowledge:
    """The newest cluster of a job.

    Args:
        store: of the job, whatever the round.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = ""
        self._cluster: Cluster | None = None

    def newest(self, first: Cluster | None) -> Cluster | None:
        """What was measured last; `first` before anything was."""
        said = peek(self._store, _KEY)
        if said is None:
            return first
        if said.decode() != self._version:
            version, _, parts = said.decode().partition(" ")
            keys = [f"{_KEY}/{version}/{part}" for part in range(int(parts))]
            values = get_all(self._store, keys, 0.0)
            content = expand(b"".join(value or b"" for value in values), MOST_BYTES)
            self._cluster = cluster_file.decode_cluster(
                document.parse(content, "what was measured"), "what was measured"
            )
            self._version = said.decode()
        return self._cluster

    def renew(self, cluster: Cluster) -> None:
        """Let all later rounds know."""
        content = zlib.compress(document.dump(cluster_file.encode_cluster(cluster)), 1)
        starts = range(0, len(content), _PART_BYTES)
        said = peek(self._store, _KEY)
        version = 1 + int(said.decode().partition(" ")[0]) if said is not None else 1
        for part, start in enumerate(starts):
            self._store.set(f"{_KEY}/{version}/{part}", content[start : start + _PART_BYTES])
        self._version = f"{version} {len(starts)}"
        self._cluster = cluster
        self._store.set(_KEY, self._version.encode())
