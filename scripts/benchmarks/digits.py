"""Compare a small real training on Gloo and on plink: the loss of every step, and what was learnt.

scripts/train-digits on every host of a lab, the same seeds on both, and plink along the plan of
`plink plan --kind auto`. Sums are rounded otherwise where they are added up in another order, so
losses differ in their last digits, and the more the longer one trains; a third training, by one
rank with the whole batch, shows how far rounding alone goes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchkit.arguments import add_lab, add_seed, lab_options
from benchkit.digits import Learned
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import outputs, start_processes
from benchkit.report import Report
from plink.formats import cluster as cluster_file

EXAMPLE = "--epochs 3"
QUICK = "--epochs 1"
TRAIN = Path(__file__).parents[1] / "train-digits"
PORT = 29400
BATCH = 120

HEADER = ("epoch", "loss, Gloo", "loss, plink", "loss, one rank")
DIFFERENCE_HEADER = (
    "trained by",
    "accuracy",
    "steps",
    "losses equal to plink's",
    "greatest difference from plink's",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, racks=2, hosts="2", rates=("400mbit", "200mbit"))
    add_seed(parser)
    parser.add_argument("--epochs", type=int, default=10, help="how often all images are seen")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Train three times and print the tables."""
    if arguments.racks < 2:
        raise SystemExit("error: --racks: two or more, since the uplinks between them are measured")
    with bench_lab(*lab_options(arguments)) as lab:
        plan = lab.dir / "plan.json"
        cluster = lab.probe_with_uplinks("--method", "linkage")
        lab.plink("plan", cluster, "--kind", "auto", "-o", plan, "--json", over_ssh=False)
        hosts = cluster_file.read_cluster(str(cluster)).names
        learned = {
            "Gloo": train(lab, hosts, "gloo", arguments),
            "plink": train(lab, hosts, "plink", arguments, PLINK_PLAN=str(plan)),
            "one rank": train(lab, hosts[:1], "gloo", arguments),
        }
    show(learned, arguments.epochs, report)


def train(
    lab: BenchLab,
    hosts: Sequence[str],
    backend: str,
    arguments: argparse.Namespace,
    **environment: str,
) -> Learned:
    """Return the result of the training on each host's rank.

    Raises:
        SystemExit: a rank failed.
    """
    command = [sys.executable, str(TRAIN), "--backend", backend, "--json"]
    command += ["--epochs", str(arguments.epochs), "--batch", str(BATCH // len(hosts))]
    command += ["--seed", str(arguments.seed)]
    environments = [
        {
            "GLOO_SOCKET_IFNAME": "eth0",
            "MASTER_ADDR": lab.addresses[hosts[0]],
            "MASTER_PORT": str(PORT),
            "RANK": str(rank),
            "WORLD_SIZE": str(len(hosts)),
            **environment,
        }
        for rank in range(len(hosts))
    ]
    commands = [[*lab.command_on(host), *command] for host in hosts]
    with start_processes(commands, environments) as processes:
        return Learned(**json.loads(outputs(processes)[0].splitlines()[-1]))


def show(learned: Mapping[str, Learned], epochs: int, report: Report) -> None:
    """Print the mean loss of every epoch, and how far losses of single steps are apart."""
    steps = len(learned["plink"].losses) // epochs
    rows = []
    for epoch in range(epochs):
        losses = [one.losses[epoch * steps :][:steps] for one in learned.values()]
        rows.append((str(epoch + 1), *(f"{statistics.mean(of_epoch):.6f}" for of_epoch in losses)))
    report.table(HEADER, rows)
    rows = []
    for name, one in learned.items():
        pairs = list(zip(learned["plink"].losses, one.losses, strict=True))
        rows.append(
            (
                name,
                f"{one.accuracy:.4f}",
                str(len(pairs)),
                str(sum(ours == theirs for ours, theirs in pairs)),
                f"{max(abs(ours - theirs) / ours for ours, theirs in pairs):.1e}",
            )
        )
    report.table(DIFFERENCE_HEADER, rows)
