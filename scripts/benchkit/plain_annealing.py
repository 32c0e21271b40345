"""A plain annealer in C, the peer of plink's searches: built, and given an order to find."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.form import RoundsForm, TreesForm

Matrix = npt.NDArray[np.float64]

_SOURCE = Path(__file__).parent / "programs" / "plain_annealer.c"


@dataclass(frozen=True)
class Found:
    """What the peer found.

    Args:
        cost: of the cheapest order, in the matrix's unit.
        order: `order[rank]` = host.
        moves: tried in all runs.
    """

    cost: float
    order: list[int]
    moves: int


class PlainAnnealer:
    """The built peer.

    Args:
        program: where it is.
    """

    def __init__(self, program: Path) -> None:
        self._program = program

    def find(
        self,
        form: RoundsForm | TreesForm,
        distance: Matrix,
        *,
        seed: int,
        runs: int,
        seconds: float = 0.0,
        moves: int = 0,
    ) -> Found:
        """The cheapest order of some runs, each from a random order.

        Args:
            form: what is summed.
            distance: (N, N), symmetric, zero diagonal.
            seed: decides every choice by chance.
            runs: how many.
            seconds: of processor time for each run; 0 for no limit.
            moves: of each run; 0 for no limit.
        """
        options = [str(seed), str(runs), f"{seconds:.6f}", str(moves)]
        done = subprocess.run(
            [str(self._program), *options],
            input=_problem(form, distance),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        cost, tried, *order = done.stdout.split()
        return Found(float(cost), [int(host) for host in order], int(tried))


@contextmanager
def plain_annealer() -> Iterator[PlainAnnealer]:
    """Built by the machine's C compiler, while the context lasts."""
    with TemporaryDirectory(prefix="plink-annealer-") as folder:
        program = Path(folder) / "plain_annealer"
        compiler = ["cc", "-O3", "-march=native", "-o", str(program), str(_SOURCE), "-lm"]
        subprocess.run(compiler, check=True)
        yield PlainAnnealer(program)


def _problem(form: RoundsForm | TreesForm, distance: Matrix) -> str:
    lines = [str(form.ranks), *(" ".join(map(repr, row)) for row in distance.tolist())]
    if isinstance(form, TreesForm):
        lines.append(f"1 {len(form.parents)}")
        lines += [" ".join(map(str, tree.tolist())) for tree in form.parents]
    else:
        lines.append(f"0 {len(form.rounds)}")
        for step in form.rounds:
            pairs = np.asarray(step.edges).ravel().tolist()
            lines.append(" ".join(map(str, [step.weight, len(step.edges), *pairs])))
    return "\n".join(lines)
