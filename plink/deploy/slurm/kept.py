"""Store of round-trip times for later jobs on a Slurm cluster, one file per job that measured.

No file is ever changed: jobs that run at the same time cannot take anything from each other. Who
reads lays them over each other, the newest on top.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from plink.probes.options import EchoOptions

_SUFFIX = ".npz"
_STAMP = "%Y%m%dT%H%M%S"
# More are not read; the oldest go.
_MOST_FILES = 256


class Kept:
    """Store of round-trip times on a Slurm cluster, in a folder, for later jobs.

    Args:
        folder: where they are kept; made when something is.
        max_age: older readings count as none.
        now: the time in UTC.
    """

    def __init__(
        self,
        folder: Path,
        max_age: timedelta,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self._folder = folder
        self._max_age = max_age
        self._now = now

    def read_known(self, names: Sequence[str], others: Collection[str] = ()) -> Cluster | None:
        """Return stored round-trip times of `names`, and of `others` that have any; None if none.

        Args:
            names: hosts that are wanted, whether anything is known of them or not.
            others: hosts that may stand for them.
        """
        found = list(self._read())
        present = {host.name: host for cluster in found for host in cluster.hosts}
        more = sorted((present.keys() & set(others)) - set(names))
        hosts = [present.get(name, Host(name, name)) for name in [*names, *more]]
        rtt: RttMeasurement | None = None
        for cluster in found:
            if cluster.rtt is None:
                continue
            index = {
                host.name: place
                for place, host in enumerate(cluster.hosts)
                # At another address it was another machine.
                if host.address == present[host.name].address
            }
            here = cluster.rtt.for_hosts([index.get(host.name) for host in hosts])
            rtt = here if rtt is None else rtt.overlay(here, ~np.isnan(here.readings_us))
        if rtt is None or np.isnan(rtt.readings_us).all():
            return None
        return Cluster(hosts, rtt=rtt)

    def keep(self, cluster: Cluster, before: Cluster | None, job: str) -> None:
        """Store a job's new readings in a file, and delete files that are too old or too many.

        Raises:
            PlinkError: the folder cannot be written.
        """
        fresh = select_new_readings(cluster, before)
        if fresh is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise PlinkError(
                f"{self._folder}: the folder cannot be created ({error.strerror or error})"
            ) from None
        stamp = self._now().strftime(_STAMP)
        name = f"{stamp}-{job}-{secrets.token_hex(4)}{_SUFFIX}"
        cluster_file.write_cluster(str(self._folder / name), fresh)
        self._drop()

    def _read(self) -> Iterator[Cluster]:
        """Yield the clusters in stored files that are recent and comparable, the oldest first."""
        percentiles = set(EchoOptions().percentiles)
        for file in self._files()[-_MOST_FILES:]:
            if self._is_old(file):
                continue
            try:
                cluster = cluster_file.read_cluster(str(file))
            except (PlinkError, WrongUseError):
                # Another job has dropped it, or it is no file of ours.
                continue
            if cluster.rtt is not None and set(cluster.rtt.rtt_us) == percentiles:
                yield cluster

    def _files(self) -> list[Path]:
        try:
            return sorted(file for file in self._folder.iterdir() if file.suffix == _SUFFIX)
        except OSError:
            return []

    def _is_old(self, file: Path) -> bool:
        try:
            made = datetime.strptime(file.name.split("-")[0], _STAMP).replace(tzinfo=timezone.utc)
        except ValueError:
            return True
        return self._now() - made > self._max_age

    def _drop(self) -> None:
        files = self._files()
        for number, file in enumerate(files):
            if self._is_old(file) or number < len(files) - _MOST_FILES:
                with suppress(OSError):
                    file.unlink()


def default_folder() -> Path:
    """Return the folder in the user's cache directory where Slurm jobs keep readings by default.

    Raises:
        PlinkError: the user has none.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        raise PlinkError(
            "the user has no home folder to keep readings in", "give a folder with --keep DIR"
        ) from None
    return base / "plink" / "slurm"


def select_new_readings(cluster: Cluster, before: Cluster | None) -> Cluster | None:
    """Return a cluster with only the readings that `before` lacks; None if there are none."""
    rtt = cluster.rtt
    if rtt is None:
        return None
    is_new = ~np.isnan(rtt.readings_us)
    if before is not None and before.rtt is not None:
        index = {host.name: place for place, host in enumerate(before.hosts)}
        old = before.rtt.for_hosts([index.get(name) for name in cluster.names])
        is_new &= rtt.samples > old.samples
    if not is_new.any():
        return None
    fresh = rtt.for_hosts([None] * len(cluster.hosts)).overlay(rtt, is_new)
    bare = replace(fresh, options={}, failures=[], notes=[], precision_percent=None)
    return Cluster(cluster.hosts, rtt=replace(bare, disturbance=None))
