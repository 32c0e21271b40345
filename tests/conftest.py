"""What all tests share."""

import gc
import os
import re
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's other work than about the code.
settings.register_profile("plink", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=20)
IS_FAST = bool(os.environ.get("PLINK_TEST_FAST"))
settings.load_profile("fast" if IS_FAST else "plink")

# Where more runs than there are cores, threads that share a small sum burn them while they wait for
# each other: one thread a process, here and in what tests start. NumPy asks when it is imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

# A shell lets what it starts in the background ignore Ctrl-C, and all that tests start would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["support.needs", "support.schemas"]

FOLDER = Path(__file__).parent
# The files that take longest, longest first. Most of their time hosts are waited for. A run names
# those that take so many seconds and are not here.
LONG_S = 15
LONG = (
    "pytorch/test_lab_planning.py",
    "hostile/test_verbs.py",
    "stories/test_stories.py",
    "bench/test_bench_in_lab.py",
    "bench/test_hub_in_lab.py",
    "hub/test_porting_in_lab.py",
    "hub/test_random_crew.py",
    "hub/test_processes.py",
    "probing/test_fault_table.py",
    "lab/test_lifecycle.py",
    "lab/test_delaybox.py",
    "collectives/test_engine_far_apart.py",
    "probing/test_check_rates_in_lab.py",
    "trace/test_network_faults.py",
    "trace/test_trace.py",
    "probing/test_probe_faults.py",
    "iperf3/test_bandwidth_in_lab.py",
    "probing/test_check.py",
    "ordering/test_gaps.py",
    "groups/test_levels.py",
    "drift/test_drift.py",
    "ordering/test_time_limits.py",
    "engine/test_tls.py",
    "probing/test_simulated.py",
    "solvers/test_exact.py",
    "lab/test_ported.py",
    "bench/test_gloo_client.py",
    "collectives/test_traffic.py",
    "executors/test_executors.py",
    "pytorch/test_buckets.py",
    "pytorch/test_collectives.py",
    "pytorch/test_mismatches.py",
    "pytorch/test_encryption.py",
    "pytorch/test_named.py",
    "pytorch/test_staging.py",
    "pytorch/test_sparse.py",
    "overlap/test_planner.py",
    "overlap/test_optimal.py",
    "control/test_cycles.py",
    "pytorch/test_named_faults.py",
    "probes/test_calls.py",
    "files/test_autotune_log.py",
    "pytorch/test_pytorchs_own.py",
    "pytorch/test_training.py",
    "torch_hub/test_digits.py",
    "pytorch/test_parallel.py",
    "doctor/test_doctor_in_lab.py",
    "launchers/test_slurm_in_lab.py",
    "torchrun/test_in_lab.py",
    "torchrun/test_rounds.py",
    "probing/test_via_in_lab.py",
    "probing/test_calls_in_lab.py",
    "probing/test_calls_by_ray.py",
    "probing/test_via_containers.py",
    "setup/test_wheel.py",
    "kube/test_in_lab.py",
    "launchers/test_in_lab.py",
    "api/test_page.py",
    "iperf3/test_all_in_lab.py",
    "recipes/test_in_lab.py",
    "recipes/test_on_slurm.py",
    "autotune/test_training.py",
    "bench/test_correlation_in_lab.py",
    "verify/test_in_lab.py",
    "collectives/test_engine_faults.py",
    "mesh/test_in_lab.py",
    "cli/test_interrupted_early.py",
    "probing/test_probe.py",
    "ordering/test_command.py",
    "trace/test_host_faults.py",
    "probes/test_hostile_host.py",
    "lab/test_move.py",
    "lab/test_rootless.py",
    "solvers/orders/test_latency_search.py",
    "dpdk/test_probe.py",
    "autotune/test_reprobing.py",
    "autotune/test_resuming.py",
    "probing/test_resume_lab.py",
    "probes/test_echo_coordinator.py",
    "pytorch/test_launching.py",
    "engine/test_faults.py",
    "probing/test_fping_faults.py",
    "probing/test_interference_in_lab.py",
    "probes/test_agent_security.py",
    "lab/test_standing.py",
    "lab/test_routed.py",
    "cli/test_output.py",
    "page/test_report_command.py",
    "setup/test_left_behind.py",
    "cli/test_show.py",
    "ordering/test_algorithms.py",
    "documentation/test_site.py",
    "engine/test_deal.py",
    "probes/test_echo_agent.py",
    "launchers/test_mpi_here.py",
    "trace/test_tool.py",
    "ordering/test_order_file.py",
    "probes/test_connect.py",
    "trace/test_turns.py",
    "probes/test_sampled_rounds.py",
    "embedding/test_embedding.py",
)

# A whole file that needs more than the fast tier may take.
_LEFT_OUT = re.compile(r"^pytestmark = .*?mark\.(lab|timing|needs)\b", re.MULTILINE)
# Files whose tests the fast tier has no time for; it does without torch, too.
SLOW = (
    "api/test_package.py",
    "api/test_results.py",
    "autotune/test_job.py",
    "autotune/test_protocol.py",
    "autotune/test_reprobing_rules.py",
    "autotune/tuner/test_scenarios.py",
    "bench/test_gloo_client.py",
    "bench/test_order_report.py",
    "bench/test_spread.py",
    "cli/test_bandwidth_alone.py",
    "cli/test_output.py",
    "cli/test_show.py",
    "documentation/test_site.py",
    "contention/test_contention_search.py",
    "drift/test_drift.py",
    "embedding/test_embedding.py",
    "embedding/test_halves.py",
    "grouping/test_group_command.py",
    "grouping/test_how_sure.py",
    "groups/test_balanced.py",
    "groups/test_levels.py",
    "groups/test_recorded_labs.py",
    "hostile/test_readers.py",
    "hostile/test_verbs.py",
    "lab/test_cli.py",
    "lab/test_routing.py",
    "ordering/test_algorithms.py",
    "ordering/test_by_bandwidth.py",
    "ordering/test_command.py",
    "ordering/test_gaps.py",
    "ordering/test_slots.py",
    "page/test_figures.py",
    "page/test_report_command.py",
    "planning/test_planning.py",
    "prediction/test_command.py",
    "probes/test_agent_security.py",
    "probes/test_further_faults.py",
    "probes/test_interference.py",
    "probes/test_sampled_rounds.py",
    "probing/test_all.py",
    "probing/test_simulated.py",
    "pytorch/test_buckets.py",
    "pytorch/test_buckets.py",
    "pytorch/test_collectives.py",
    "pytorch/test_mismatches.py",
    "pytorch/test_parallel.py",
    "pytorch/test_plans.py",
    "pytorch/test_pool.py",
    "pytorch/test_posting.py",
    "pytorch/test_staging.py",
    "pytorch/test_training.py",
    "torch_hub/test_digits.py",
    "sampling/test_networks.py",
    "setup/test_bench_entry.py",
    "slots/test_slot_search.py",
    "solvers/orders/test_latency_search.py",
    "solvers/test_bottleneck_search.py",
    "solvers/test_bounds.py",
    "solvers/test_exact.py",
    "trace/test_tool.py",
)


def places(paths: Sequence[Path]) -> dict[Path, float]:
    """Where each file comes: the long ones in their order, the others spread between them.

    The others compute while hosts are waited for. No long file comes last, when the other workers
    have nothing more to do.
    """
    long = [path for name in LONG if (path := FOLDER / name) in paths]
    others = [path for path in dict.fromkeys(paths) if path not in long]
    return {path: i / len(some) for some in (long, others) for i, path in enumerate(some)}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not even import, for the fast tier, files of which it leaves out every test."""
    if not IS_FAST or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(FOLDER).as_posix()
    text = collection_path.read_text(encoding="utf-8")
    return name in SLOW or _LEFT_OUT.search(text) is not None or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mix long files with short ones, and let every test try twice until all are green every time.

    The summary names which did, and says why.
    """
    assert not (absent := [name for name in (*LONG, *SLOW) if not (FOLDER / name).exists()]), absent
    place = places(sorted({item.path for item in items}))
    items.sort(key=lambda item: place[item.path])
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lasts as long as the run: imported modules and all tests."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what went wrong the first time, which a test that then passes would hide.

    And which files `LONG` lacks: started late, each would be waited for alone.
    """
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)
    took_s: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took_s[report.nodeid.partition("::")[0].removeprefix("tests/")] += report.duration
    for name, seconds in took_s.items():
        if seconds > LONG_S and name not in LONG:
            terminalreporter.line(f"{name} took {seconds:.0f} s: LONG in conftest.py lacks it")
