"""Readings that jobs keep for one another, also when they run at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from plink.deploy.slurm.kept import Kept, default_folder, select_new_readings
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from plink.probes.options import EchoOptions

NOW = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def cluster(readings: dict[tuple[str, str], float], address: str = "10.0.0.{}") -> Cluster:
    """Hosts and readings in µs, by source and destination."""
    names = sorted({name for pair in readings for name in pair})
    times_us = np.full((len(names), len(names)), np.nan)
    for (a, b), us in readings.items():
        times_us[names.index(a), names.index(b)] = us
    counts = np.where(np.isnan(times_us), 0, 100)
    rtt = RttMeasurement(
        rtt_us={percentile: times_us.copy() for percentile in EchoOptions().percentiles},
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        passes=np.sign(counts),
        halves_us=(times_us, times_us),
        tool="echo",
    )
    hosts = [Host(name, address.format(int(name[1:]))) for name in names]
    return Cluster(hosts, rtt=rtt)


def kept(folder: Path, days: float = 0.0, max_age_days: float = 7.0) -> Kept:
    """So many days later."""
    return Kept(folder, timedelta(days=max_age_days), lambda: NOW + timedelta(days=days))


def readings(found: Cluster | None) -> dict[tuple[str, str], float]:
    if found is None or found.rtt is None:
        return {}
    at = found.rtt.readings_us
    return {
        (found.names[i], found.names[j]): float(at[i, j]) for i, j in np.argwhere(~np.isnan(at))
    }


def test_the_newest_reading_counts_and_the_old_are_dropped(tmp_path):
    folder = tmp_path / "a" / "b"
    kept(folder).keep(cluster({("n1", "n2"): 10.0, ("n2", "n1"): 11.0}), None, "1")
    kept(folder, 3).keep(cluster({("n2", "n3"): 20.0, ("n1", "n2"): 12.0}), None, "2")
    found = kept(folder, 4).read_known(["n3", "n2", "n1", "n9"])
    assert found is not None
    assert found.names == ["n3", "n2", "n1", "n9"]
    assert readings(found) == {("n1", "n2"): 12.0, ("n2", "n1"): 11.0, ("n2", "n3"): 20.0}
    # The first job's are too old then, and go when the next job keeps something.
    assert readings(kept(folder, 8).read_known(["n1", "n2"])) == {("n1", "n2"): 12.0}
    kept(folder, 8).keep(cluster({("n4", "n5"): 1.0}), None, "3")
    assert len(list(folder.iterdir())) == 2
    assert kept(folder, 4, max_age_days=0.0).read_known(["n1", "n2"]) is None
    assert kept(tmp_path / "absent").read_known(["n1", "n2"]) is None


def test_others_stand_behind_those_that_are_wanted(tmp_path):
    kept(tmp_path).keep(cluster({("n1", "n2"): 10.0, ("n2", "n3"): 11.0}), None, "1")
    found = kept(tmp_path).read_known(["n2", "n7"], ["n3", "n8"])
    assert found is not None
    assert found.names == ["n2", "n7", "n3"]
    assert readings(found) == {("n2", "n3"): 11.0}


def test_a_host_at_another_address_is_another(tmp_path):
    kept(tmp_path).keep(cluster({("n1", "n2"): 10.0}), None, "1")
    moved = cluster({("n2", "n3"): 5.0}, "10.1.0.{}")
    kept(tmp_path, 1).keep(moved, None, "2")
    assert readings(kept(tmp_path, 1).read_known(["n1", "n2", "n3"])) == {("n2", "n3"): 5.0}


def test_only_what_is_new_is_kept():
    before = cluster({("n1", "n2"): 10.0, ("n2", "n1"): 10.0})
    after = cluster({("n1", "n2"): 10.0, ("n2", "n1"): 10.0, ("n1", "n3"): 7.0})
    found = select_new_readings(after, before)
    assert readings(found) == {("n1", "n3"): 7.0}
    assert found is not None
    assert found.rtt is not None
    assert found.rtt.samples.sum() == 100
    assert select_new_readings(before, before) is None
    assert select_new_readings(Cluster(before.hosts), None) is None


def test_files_of_others_are_passed_over(tmp_path):
    kept(tmp_path).keep(cluster({("n1", "n2"): 10.0}), None, "1")
    stamp = NOW.strftime("%Y%m%dT%H%M%S")
    (tmp_path / f"{stamp}-2-x.npz").write_bytes(b"PK broken")
    (tmp_path / "notes.npz").write_text("mine")
    (tmp_path / "hostfiles").mkdir()
    assert readings(kept(tmp_path).read_known(["n1", "n2"])) == {("n1", "n2"): 10.0}


def test_jobs_at_the_same_time_lose_nothing(tmp_path):
    def job(number: int) -> None:
        own = cluster({(f"n{number}", f"n{number + 1}"): float(number)})
        kept(tmp_path).keep(own, None, str(number))
        kept(tmp_path).read_known([f"n{number}"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(job, range(1, 25)))
    found = readings(kept(tmp_path).read_known([f"n{number}" for number in range(1, 26)]))
    assert found == {(f"n{n}", f"n{n + 1}"): float(n) for n in range(1, 25)}


@pytest.mark.parametrize(
    ("cache", "under"), [("/var/x", "/var/x"), ("relative", "/home/me/.cache")]
)
def test_the_folder_is_the_users_own(monkeypatch, cache, under):
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path(under) / "plink" / "slurm"
