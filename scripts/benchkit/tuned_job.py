"""A training over plink on the hosts of a lab, that can be begun again and again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from benchkit.labs import BenchLab
from benchkit.processes import Process, answer, rank_tasks, ranks_started, tell
from benchkit.tuned_figures import Iteration

_ENDS_WITHIN_S = 120


class Ranks:
    """Processes on the hosts of a lab, rank by rank.

    Args:
        processes: one a rank.
        items: numbers in each bucket of an iteration.
        compute_s: of an iteration.
        marks: whether the program says where iterations end.
    """

    def __init__(
        self,
        processes: Sequence[Process],
        items: Sequence[int],
        compute_s: float,
        *,
        marks: bool,
    ) -> None:
        self._processes = processes
        self._training = {"items": list(items), "compute_s": compute_s, "marks": marks}
        self.iterations: list[Iteration] = []
        self.wrong = 0
        self._reader: threading.Thread | None = None

    def begin(self, environment: Mapping[str, str]) -> None:
        """Begin a training; its iterations are in `iterations` as they come."""
        self.iterations = []
        self._say(json.dumps({**self._training, "environment": dict(environment)}))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def check(self) -> None:
        """That all ranks are there.

        Raises:
            RuntimeError: one ended.
        """
        if any(process.poll() is not None for process in self._processes):
            raise RuntimeError("a rank ended; what it said is above")

    def end(self) -> list[Iteration]:
        """End the training: its iterations. Wrong sums are added up in `wrong`."""
        self._say("")
        if self._reader is not None:
            self._reader.join(_ENDS_WITHIN_S)
        for process in self._processes[1:]:
            self.wrong += answer(process)["wrong"]
        return self.iterations

    def _say(self, line: str) -> None:
        for process in self._processes:
            print(line, file=process.stdin, flush=True)

    def _read(self) -> None:
        while "wrong" not in (told := answer(self._processes[0])):
            self.iterations.append(Iteration(**told))
        self.wrong += told["wrong"]


@contextmanager
def ranks_on(
    lab: BenchLab, items: Sequence[int], compute_s: float, *, marks: bool
) -> Iterator[Ranks]:
    """Start a rank on every host, with racks in sequence; end them at the end."""
    names = lab.in_rack_order()
    with ranks_started(lab, names, "tuned_rank") as processes:
        for process, task in zip(processes, rank_tasks(lab, names), strict=True):
            tell(process, task)
        yield Ranks(processes, items, compute_s, marks=marks)
