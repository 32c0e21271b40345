"""Real ranks with PyTorch: the plan changes under them, and every sum is right."""

from __future__ import annotations

from pathlib import Path

from autotune import training_checks as checks
from autotune.serving import SECRET, plan_of, serving, switching
from plink.autotune.server import Served
from plink.files import plan as plan_file
from pytorch.processes import results


def environment(folder: Path, ranks: int, host: str, port: int) -> dict[str, str]:
    path = str(folder / "plan.json")
    plan_file.write(path, plan_of(ranks))
    return {
        "PLINK_PLAN": path,
        "PLINK_AUTOTUNE": f"{host}:{port}",
        "PLINK_AUTOTUNE_SECRET": SECRET.decode(),
        "PLINK_AUTOTUNE_STRIDE": "1000000000:4",
        "PLINK_AUTOTUNE_WINDOW": "0.05",
    }


def test_a_plan_that_changes_all_the_time_gives_right_sums(tmp_path: Path) -> None:
    job = switching(3)
    with serving({"job": Served(job, SECRET)}) as (host, port):
        heard = results(
            checks.until_switched, 3, tmp_path, 5, environment=environment(tmp_path, 3, host, port)
        )
    assert len(set(heard)) == 1
    assert isinstance(heard[0], int), heard[0]
    assert job.status.plan >= 5
