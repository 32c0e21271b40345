"""Cache of clusters measured from inside a job, for the next job on the same hosts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from plink.base.errors import PlinkError
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.renumber.members import Member

FOLDER_VARIABLE = "PLINK_CACHE"

_FOLDER = "jobs"


class Kept:
    """Cache entry for the cluster of a set of hosts.

    Args:
        file: of the cluster; None to keep nothing.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file

    @classmethod
    def of(
        cls,
        folder: str,
        environment: Mapping[str, str],
        members: Sequence[Member],
        names: Sequence[str],
    ) -> Kept:
        """Return the cache entry for the hosts of these processes.

        Args:
            folder: that the user named; empty for PLINK_CACHE, or the user's cache folder.
            environment: of the process.
            members: the processes by number.
            names: name of each one's host.
        """
        given = folder or environment.get(FOLDER_VARIABLE, "")
        base = Path(given) if given else _cache_folder(environment)
        return cls(None if base is None else base / f"{hosts_key(members, names)}.npz")

    def read(self) -> Cluster | None:
        """Return the cached cluster, or None where there is none that can be read."""
        if self.file is None or not self.file.exists():
            return None
        try:
            return cluster_file.read_cluster(str(self.file))
        except PlinkError:
            # Another version's, or damaged: the hosts are measured anew.
            return None

    def write(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        """Cache a cluster and tell the user where; a folder that cannot be written is no error."""
        if self.file is None:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            cluster_file.write_cluster(str(self.file), cluster)
        except (OSError, PlinkError) as error:
            say(f"what was measured is not kept: {error}")
            return
        say(f"kept for the next job on these hosts: {self.file}")


def hosts_key(members: Sequence[Member], names: Sequence[str]) -> str:
    """Return a key of the hosts' names and addresses, whatever their order and number of ranks."""
    hosts = {name: sorted(member.addresses) for member, name in zip(members, names, strict=True)}
    return hashlib.sha256(json.dumps(sorted(hosts.items())).encode()).hexdigest()[:32]


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Return plink's folder in the user's cache; None where the user has no home.

    Where homes are shared, jobs on all hosts see it.
    """
    cache = environment.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "plink" / _FOLDER
