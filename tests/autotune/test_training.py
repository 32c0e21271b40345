"""Real ranks with PyTorch: plans change under them, the daemon dies, and every sum is right."""

from __future__ import annotations

import contextlib
from multiprocessing import forkserver
from pathlib import Path

import pytest

from autotune import training_checks as checks
from autotune.serving import HOST, SECRET, DaemonProcess, plan_of
from plink.formats import plan as plan_file
from pytorch.processes import running
from support.ports import reserved_port

RANKS = 3
# Once through all shapes.
SWITCHES = 5
SWITCHES_AGAIN = 2

pytestmark = pytest.mark.timing


def environment(folder: Path, port: int) -> dict[str, str]:
    path = str(folder / "plan.json")
    plan_file.write_plan(path, plan_of(RANKS))
    return {
        "PLINK_PLAN": path,
        "PLINK_AUTOTUNE": f"{HOST}:{port}",
        "PLINK_AUTOTUNE_SECRET": SECRET.decode(),
        "PLINK_AUTOTUNE_WINDOW": "0.02",
    }


def test_sums_are_right_while_plans_change_and_the_daemon_dies(tmp_path: Path) -> None:
    mark = tmp_path / "dead"
    with contextlib.ExitStack() as stack:
        daemon, other = DaemonProcess(RANKS), DaemonProcess(RANKS)
        stack.callback(other.end)
        stack.callback(daemon.end)
        forkserver.ensure_running()
        port = daemon.listen(stack.enter_context(reserved_port(HOST)))
        check, arguments = checks.with_a_daemon_that_dies, (SWITCHES, SWITCHES_AGAIN, str(mark))
        given = environment(tmp_path, port)
        ranks = stack.enter_context(running(check, RANKS, tmp_path, *arguments, environment=given))
        assert [rank.hear() for rank in ranks] == ["switched"] * RANKS
        daemon.end()
        mark.touch()
        assert [rank.hear() for rank in ranks] == ["went on"] * RANKS
        other.listen(port)
        iterations = [rank.hear() for rank in ranks]
    assert len(set(iterations)) == 1
    assert isinstance(iterations[0], int), iterations[0]
