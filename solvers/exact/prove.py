"""Proof by an exact engine that no order costs less than a known one, or an order that does."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RoundsForm, merge_rounds
from plink.solvers.exact.whole import EngineResult, whole_terms
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import brute_force

Engine = Literal["brute-force", "cp-sat", "z3"]
Outcome = Literal["improved", "optimal", "gave-up"]

Matrix = npt.NDArray[np.float64]

# Modules of the engines whose libraries are extras.
_MODULES = {"z3": "plink.solvers.exact.smt", "cp-sat": "plink.solvers.exact.cp_sat"}

# Engines have nothing to do where all orders are soon tried.
_FEW_RANKS = 3

# All 362,880 orders of so many ranks are tried.
_MOST_TRIED = 9

# For the bound that comes first. Engines know better bounds for few hosts soon.
_BOUND_SHARE = 0.1
_BOUND_S_PER_RANK = 0.01


@dataclass(frozen=True)
class ProofResult:
    """Verdict of an exact engine: a cheaper order if there is one, and a bound.

    Args:
        outcome: `optimal`: no order costs less than `order`, but for the tolerance. `improved`:
            `order` is cheaper than the incumbent, and a cheaper one may exist. `gave-up`: neither.
        order: the cheapest known, `order[rank]` = host; the incumbent if nothing cheaper was found.
        cost: cost of `order`, in the matrix's unit.
        lower_bound: no order costs less.
        seconds: what the proof took.
    """

    outcome: Outcome
    order: Sequence[int]
    cost: float
    lower_bound: float
    seconds: float


class EngineMissingError(ImportError):
    """Error that the library of an exact engine is not installed.

    Args:
        package: what to install.
    """

    def __init__(self, package: str) -> None:
        super().__init__(f"{package}, the exact engine's library, is not installed")
        self.package = package


def prove(
    form: Form,
    distance: Matrix,
    incumbent: Sequence[int],
    time_limit_s: float,
    engine: Engine = "cp-sat",
) -> ProofResult:
    """Search for orders cheaper than the incumbent until none exists or time is over.

    The second stage of Luo 2020, §5.2.3: the cost must be less than the incumbent's. Engines that
    count in whole numbers do so in millionths of the greatest term; `optimal` then means that no
    order is cheaper by more than a millionth of that for every term of a cost (whole.py).

    Args:
        form: what the cost sums up.
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        incumbent: a permutation of the N hosts, `order[rank]` = host.
        time_limit_s: for all of it, importing an engine and writing down its model too. An
            interrupt (Ctrl-C) ends the proof earlier, with what there is.
        engine: `brute-force` (up to 9 ranks), `cp-sat` (up to 40; a ring 200) or `z3` (up to 24).
            With more ranks it gives up at once.

    Raises:
        ValueError: a matrix that is none of distances.
        EngineMissingError: the engine's library is not installed.
    """
    start = time.monotonic()
    deadline = Deadline(time_limit_s)
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    given = list(incumbent)
    cost = latency_cost(form, matrix, given)
    bound_s = min(_BOUND_SHARE * time_limit_s, _BOUND_S_PER_RANK * form.ranks)
    known = 0.0
    try:
        known = lower_bound(form, matrix, Deadline(bound_s))
        simple = merge_rounds(form) if isinstance(form, RoundsForm) else form
        if cost <= known:
            result = EngineResult(given, known, is_final=True)
        elif engine == "brute-force" or form.ranks <= _FEW_RANKS:
            result = EngineResult(given, 0.0, is_final=False)
            if form.ranks <= _MOST_TRIED:
                best = brute_force(simple, matrix, given, deadline)
                result = EngineResult(best.order, best.lower_bound, best.ended_by == "exact")
        else:
            result = _run_engine(engine, simple, matrix, given, known=known, until=deadline)
    except (KeyboardInterrupt, ctypes.ArgumentError) as error:
        # Z3 is called by ctypes, which tells an interrupt during its conversions in this way.
        if isinstance(error, ctypes.ArgumentError) and "KeyboardInterrupt" not in str(error):
            raise
        result = EngineResult(None, known, is_final=False)
    order = given
    if result.order is not None and latency_cost(form, matrix, result.order) < cost:
        order, cost = list(result.order), latency_cost(form, matrix, result.order)
    outcome: Outcome = "gave-up" if order == given else "improved"
    return ProofResult(
        outcome="optimal" if result.is_final else outcome,
        order=order,
        cost=cost,
        lower_bound=min(cost, max(known, result.bound)),
        seconds=time.monotonic() - start,
    )


def _run_engine(
    engine: Engine,
    form: Form,
    matrix: Matrix,
    given: Sequence[int],
    *,
    known: float,
    until: Deadline,
) -> EngineResult:
    """Search with an engine on distances as integers; return the result in the matrix's unit."""
    module = _load_engine(engine)
    gave_up = EngineResult(None, known, is_final=False)
    if form.ranks > module.most_ranks(form):
        return gave_up
    whole = whole_terms(form, matrix)
    try:
        found: EngineResult = module.look_below(
            form, whole, whole.cost(form, given), whole.convert_bound(known), until
        )
    except TimeoutError:
        return gave_up
    return EngineResult(found.order, found.bound * whole.unit, found.is_final)


def _load_engine(engine: Engine) -> Any:
    """Import an engine's module (`most_ranks`, `look_below`); raise if its library is missing."""
    try:
        return importlib.import_module(_MODULES[engine])
    except ModuleNotFoundError as error:
        raise EngineMissingError("z3-solver" if engine == "z3" else "ortools") from error
