"""The data centre that orders are simulated on, and how times are written."""

from __future__ import annotations

from plink.simulate.datacentres import DataCentre, racks
from plink.simulate.simulation import Times

PER_RACK = 16


def centre_of(count: int, per_rack: int, oversubscription: float) -> DataCentre:
    """Racks with 10 Gbit/s a host and 2 µs a link."""
    return racks(count, per_rack, rate_gbit_s=10.0, hop_us=2.0, oversubscription=oversubscription)


def time_text(time_s: float | None) -> str:
    """In ms; `too long` without a time."""
    return "too long" if time_s is None else f"{1e3 * time_s:.1f} ms"


def of_model(times: Times | None) -> str:
    """The time over what plink predicts; empty where one of them is not known."""
    if times is None or not times.simulated_s or not times.predicted_s:
        return ""
    return f"{times.simulated_s / times.predicted_s:.2f}"
