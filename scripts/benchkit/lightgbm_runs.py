"""Distributed trainings with LightGBM on the hosts of a lab, one after another in many orders."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchkit.labs import BenchLab
from benchkit.processes import Process, program, started
from benchkit.programs.lightgbm_worker import UNTIMED_TREES
from plink.deploy.launchers import FORMATS
from plink.deploy.launchers.address_lists import FIRST_PORT
from plink.files.cluster import Host


@dataclass(frozen=True)
class Training:
    """What every host trains: rows of its own, and trees of so many leaves."""

    rows: int
    features: int
    leaves: int
    trees: int


@dataclass(frozen=True)
class Trained:
    """Seconds that the trees took, and the bytes of a tree from rank to rank."""

    seconds: float
    tree_bytes: Mapping[tuple[int, int], float]


@dataclass
class Workers:
    """A worker on every host, waiting for machine lists."""

    training: Training
    processes: Mapping[str, Process]
    # LightGBM cannot bind a port that it used a moment ago.
    ports: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_PORT))

    def train(self, order: Sequence[Host]) -> Trained:
        """Train with these hosts as ranks."""
        text = (
            FORMATS["lightgbm"].render(order).replace(f" {FIRST_PORT}\n", f":{next(self.ports)},")
        )
        for host in order:
            _input(self.processes[host.name], text.rstrip(",") + "\n")
        answers = [json.loads(_line(self.processes[host.name], "{")) for host in order]
        rank_of = {host.address: rank for rank, host in enumerate(order)}
        trees = self.training.trees + UNTIMED_TREES
        sent = {
            (rank, rank_of[address]): count / trees
            for rank, answer in enumerate(answers)
            for address, count in answer["sent_bytes"].items()
        }
        return Trained(max(answer["seconds"] for answer in answers), sent)


@contextmanager
def workers(lab: BenchLab, names: Sequence[str], training: Training) -> Iterator[Workers]:
    """Start a worker on every host, and end all at the end."""
    options = (training.rows, training.features, training.leaves, training.trees)
    login = ("ssh", "-F", str(lab.dir / "ssh_config"))
    commands = [
        [*login, name, *program("lightgbm_worker"), *map(str, (len(names), number, *options))]
        for number, name in enumerate(names)
    ]
    with started(commands) as running:
        for process in running:
            _line(process, "ready")
        yield Workers(training, dict(zip(names, running, strict=True)))


def _input(process: Process, text: str) -> None:
    if process.stdin is not None:
        process.stdin.write(text)
        process.stdin.flush()


def _line(process: Process, start: str) -> str:
    """The next line that begins so; LightGBM says other things in between."""
    for line in process.stdout or ():
        if line.startswith(start):
            return line
    raise RuntimeError("a worker ended; what it said is above")
