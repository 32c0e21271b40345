"""Action of `plink kube metrics`: write a measurement's Prometheus metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plink.cli.json_output import print_json_line, refuse_json_beside
from plink.deploy.kubernetes.metrics import families, render
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.outputs import HostMetric, Metric, Metrics, TierMetric

# The struct of a figure, by the names of its labels.
_METRICS: Mapping[tuple[str, ...], Callable[..., Any]] = {
    (): Metric,
    ("tier",): TierMetric,
    ("host",): HostMetric,
}


def run(file: str, output: str | None, *, as_json: bool) -> int:
    """Print or write the metrics; return the exit code."""
    if output is None:
        output = None if as_json else document.STANDARD_STREAM
    if output is not None:
        refuse_json_beside(output, "the figures", as_json=as_json)
        document.check_writable(output)
        document.refuse_same_file(file, output)
    cluster = cluster_file.read_cluster(file)
    if output is not None:
        document.write_bytes(output, render(cluster).encode())
    if as_json:
        metrics = {
            name: [_METRICS[tuple(labels)](**labels, value=value) for labels, value in values]
            for name, _, values in families(cluster)
        }
        print_json_line(Metrics(**metrics))
    return 0
