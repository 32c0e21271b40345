"""What all tests share."""

import gc
import os
import re
import signal
from collections.abc import Generator
from pathlib import Path

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# How long an example takes says more about the machine's other work than about the code.
# Examples are drawn by the seed of `scripts/test` (`tests/support/seeds.py`), or anew each time.
IS_SOAK = bool(os.environ.get("PLINK_SOAK"))
settings.register_profile(
    "plink",
    max_examples=500 if IS_SOAK else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("plink")
if "PLINK_TEST_SEED" in os.environ:
    hypothesis.core.global_force_seed = int(os.environ["PLINK_TEST_SEED"])
    # Constants of the modules that this worker has imported so far would make a draw hang on which
    # files it was given before.
    providers._get_local_constants = lambda: providers._local_constants
IS_FAST = bool(os.environ.get("PLINK_TEST_FAST"))

# Where more runs than there are cores, threads that share a small sum burn them while they wait for
# each other: one thread a process, here and in what tests start. NumPy asks when it is imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

# A shell lets what it starts in the background ignore Ctrl-C, and all that tests start would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup with hang-ups. The run and its workers live through them, what tests start does not.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    os.environ["PLINK_TEST_NOHUP"] = "yes"
if "PLINK_TEST_NOHUP" in os.environ:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

pytest_plugins = ["support.durations", "support.needs", "support.schemas"]

FOLDER = Path(__file__).parent
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


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not even import, for the fast tier, files of which it leaves out every test."""
    if not IS_FAST or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(FOLDER).as_posix()
    text = collection_path.read_text(encoding="utf-8")
    return name in SLOW or _LEFT_OUT.search(text) is not None or None


def pytest_collection_modifyitems() -> None:
    """Refuse a list of slow files that names one which is gone."""
    assert not (absent := [name for name in SLOW if not (FOLDER / name).exists()]), absent


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import and collect without the garbage collector, which would find next to nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lasts as long as the run: imported modules and all tests."""
    gc.collect()
    gc.freeze()
