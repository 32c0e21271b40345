"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's other work than about the code.
settings.register_profile("plink", deadline=None)
settings.load_profile("plink")

FOLDER = Path(__file__).parent
# Long files first, so that no worker is left with one when the others have nothing more to do;
# those that share a lab are neighbours.
FIRST = (
    "bench/test_bench_in_lab.py",
    "probing/test_fault_table.py",
    "probing/test_check.py",
    "probing/test_probe_faults.py",
    "probing/test_probe.py",
    "probing/test_fping_faults.py",
    "iperf3/test_bandwidth_in_lab.py",
    "bench/test_gloo_client.py",
    "trace/test_trace.py",
    "trace/test_host_faults.py",
    "dpdk/test_probe.py",
    "launchers/test_in_lab.py",
    "verifying/test_in_lab.py",
    "collectives/test_traffic.py",
    "lab/test_lifecycle.py",
    "bench/test_correlation_in_lab.py",
    "probing/test_check_refusals.py",
    "probing/test_resume_lab.py",
    "probes/test_hostile_host.py",
    "probes/test_echo_coordinator.py",
    "trace/test_network_faults.py",
    "probes/test_connect.py",
    "solvers/test_exact.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, and give tests of real hosts on shared cores a second chance.

    The summary names who took it, and says why.
    """
    place = {FOLDER / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    for item in items:
        if item.get_closest_marker("lab") or item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what went wrong the first time, which a test that then passes would hide."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)
