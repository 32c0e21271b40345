"""Cluster of a job's readings that its torchrun agents share through the job's store."""

from __future__ import annotations

import zlib

from plink.base.errors import WrongUseError
from plink.base.expanding import expand
from plink.engine.store import Store, get_all, peek
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.unpacking import MOST_BYTES

# PyTorch's store takes no more than 8 MiB at once.
_PART_BYTES = 4 << 20
# Packed content is hardly ever larger than what it holds.
_MOST_PARTS = MOST_BYTES // _PART_BYTES + 1
_KEY = "cluster"


class Knowledge:
    """Cluster with a job's readings, shared by torchrun agents through the job's store.

    Args:
        store: of the job, whatever the round.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = ""
        self._cluster: Cluster | None = None

    def newest(self, first: Cluster | None) -> Cluster | None:
        """Return the cluster that an agent stored last, or `first` if none was stored.

        Raises:
            WrongUseError: what the store holds is too large or damaged.
        """
        said = peek(self._store, _KEY)
        if said is None:
            return first
        # Bytes that are no text are refused as a version that nobody wrote.
        version = said.decode(errors="replace")
        if version != self._version:
            try:
                content = self._content(version)
            except ValueError as error:
                raise WrongUseError(
                    f"the readings that the job's store holds are damaged or too large: {error}"
                ) from None
            self._cluster = cluster_file.decode_cluster(
                document.parse(content, "what was measured"), "what was measured"
            )
            self._version = version
        return self._cluster

    def _content(self, said: str) -> bytes:
        version, _, parts = said.partition(" ")
        if not 0 < int(parts) <= _MOST_PARTS:
            raise ValueError(f"the readings have {int(parts):,} parts, expected 1 to {_MOST_PARTS}")
        keys = [f"{_KEY}/{version}/{part}" for part in range(int(parts))]
        values = get_all(self._store, keys, 0.0)
        return expand(b"".join(value or b"" for value in values), MOST_BYTES)

    def renew(self, cluster: Cluster) -> None:
        """Store a cluster as the newest, for the next rendezvous of the agents."""
        content = zlib.compress(document.dump(cluster_file.encode_cluster(cluster)), 1)
        starts = range(0, len(content), _PART_BYTES)
        said = peek(self._store, _KEY)
        version = 1 + int(said.decode().partition(" ")[0]) if said is not None else 1
        for part, start in enumerate(starts):
            self._store.set(f"{_KEY}/{version}/{part}", content[start : start + _PART_BYTES])
        self._version = f"{version} {len(starts)}"
        self._cluster = cluster
        self._store.set(_KEY, self._version.encode())
