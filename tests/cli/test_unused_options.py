"""`plink probe` takes no option that the chosen tool would not use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plink.cli import run
from plink.cli.probe import command
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from plink.measure.probing.tools import TAKEN_BY, TOOLS

VALUES = {
    "count": "--count=5",
    "passes": "--passes=2",
    "precision_percent": "--precision=5",
    "percentile": "--percentile=50",
    "rounds": "--rounds=all",
    "seed": "--seed=1",
    "port": "--port=9",
    "remote_cache": "--remote-cache=x",
    "nics": "--nics=/nowhere",
    "max_hops": "--max-hops=5",
    "remote_python": "--remote-python=x",
    "duration_s": "--duration=3",
    "streams": "--streams=2",
    "direction": "--direction=both",
    "congestion": "--congestion=reno",
    "groups": "--groups=/nowhere",
}


def test_every_option_of_some_tools_is_tested() -> None:
    known = {parameter.name for parameter in command.params}
    assert VALUES.keys() == known & TAKEN_BY.keys()


@pytest.mark.parametrize("tool", TOOLS)
def test_an_option_is_taken_or_refused(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.json"
    for name, option in VALUES.items():
        assert run(["probe", "/nowhere", "-o", str(out), "--tool", tool, option]) == 2
        said = capsys.readouterr().err
        if tool in TAKEN_BY[name]:
            assert said == "error: /nowhere: No such file or directory\n"
        else:
            *others, last = TAKEN_BY[name]
            takers = f"{', '.join(others)} or {last}" if others else last
            written = option.partition("=")[0]
            assert said.startswith(f"error: {written} applies to the tool {takers}, not {tool}\n")


def test_a_check_goes_by_the_tool_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.json"
    rtt_us = np.array([[np.nan, 5.0], [5.0, np.nan]])
    ones = np.ones((2, 2), dtype=np.int64)
    rtt = RttMeasurement({10.0: rtt_us}, 10.0, ones, 0 * ones, tool="fping")
    cluster_file.write_cluster(
        str(path), Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2")], rtt)
    )
    assert run(["check", str(path), "--remote-cache", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --remote-cache applies to the tool echo or dpdk, ")
    assert f"and {path} was measured with fping\n" in said
