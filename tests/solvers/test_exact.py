"""Exact engines: equal to brute force, and honest about where they ended."""

from __future__ import annotations

import _thread
import builtins
import ctypes
import itertools
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forms
from benchkit import ring_instances
from plink.base.interrupts import interrupt_again
from plink.solvers.collectives.cost import Prices, latency_cost
from plink.solvers.collectives.form import RoundsForm, merge_rounds
from plink.solvers.collectives.registry import find
from plink.solvers.exact import prove as proving
from plink.solvers.exact.prove import EngineMissingError, prove
from plink.solvers.exact.whole import whole_terms
from ring_strategies import distance_matrices


def data_centre(size, seed):
    """Hosts in racks of four."""
    readings = ring_instances.data_centre(64, seed, rack=4, racks_per_row=2)[:size, :size]
    distance = np.fmax(readings, readings.T)
    np.fill_diagonal(distance, 0.0)
    return distance


def worst_of_some(form, distance):
    rng = np.random.default_rng(1)
    orders = np.array([rng.permutation(form.ranks) for _ in range(100)])
    return orders[int(Prices(form, distance).price_all(orders).argmax())].tolist()


@pytest.mark.parametrize("engine", ["cp-sat", "z3"])
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("ring", 7),
        ("halving-doubling", 8),
        ("tree", 7),
        ("folded", 6),
        ("all pairs", 5),
    ],
)
def test_engines_equal_brute_force(name, size, engine):
    form, distance = forms.form_of(name, size), data_centre(size, seed=size)
    given_order = worst_of_some(form, distance)
    expected = prove(form, distance, given_order, 60.0, "brute-force")
    every = np.array(list(itertools.permutations(range(size))))
    assert expected.cost == pytest.approx(Prices(form, distance).price_all(every).min(), rel=1e-12)
    verdict = prove(form, distance, given_order, 60.0, engine)
    assert verdict.outcome == expected.outcome == "optimal"
    assert verdict.cost == pytest.approx(expected.cost, rel=1e-5)
    assert verdict.cost == latency_cost(form, distance, verdict.order)
    assert verdict.lower_bound <= expected.cost * (1 + 1e-12)
    assert verdict.lower_bound == pytest.approx(expected.cost, rel=1e-5)


@given(distance_matrices(4, 5), st.sampled_from(forms.ANY), st.sampled_from(["cp-sat", "z3"]))
def test_engines_equal_brute_force_for_any_matrix(distance, name, engine):
    form = forms.form_of(name, len(distance))
    given_order = worst_of_some(form, distance)
    expected = prove(form, distance, given_order, 60.0, "brute-force")
    verdict = prove(form, distance, given_order, 60.0, engine)
    tolerance = whole_terms(merge_rounds(form) if isinstance(form, RoundsForm) else form, distance)
    assert verdict.outcome == "optimal"
    assert verdict.cost <= expected.cost + tolerance.tolerance
    assert verdict.lower_bound <= expected.cost * (1 + 1e-12)


def test_cp_sat_proves_sixteen():
    form, distance = forms.form_of("ring", 16), data_centre(16, seed=2)
    verdict = prove(form, distance, list(range(16)), 100.0, "cp-sat")
    assert verdict.outcome == "optimal"
    assert verdict.lower_bound == pytest.approx(verdict.cost, rel=1e-4)


@pytest.mark.parametrize("engine", ["cp-sat", "z3"])
def test_an_optimal_order_is_confirmed_and_kept(engine):
    form, distance = find("halving-doubling").form(8), data_centre(8, seed=4)
    best = prove(form, distance, list(range(8)), 60.0, "brute-force").order
    verdict = prove(form, distance, best, 60.0, engine)
    assert verdict.outcome == "optimal"
    assert verdict.order == best


@pytest.mark.parametrize("engine", ["brute-force", "cp-sat", "z3"])
def test_time_limit_ends_a_proof_that_is_out_of_reach(engine):
    form, distance = find("tree").form(18), data_centre(18, seed=1)
    verdict = prove(form, distance, worst_of_some(form, distance), 0.5, engine)
    assert verdict.seconds < 30.0
    assert verdict.outcome in ("gave-up", "improved")
    assert 0.0 < verdict.lower_bound < verdict.cost
    assert verdict.cost == latency_cost(form, distance, verdict.order)


@pytest.mark.parametrize(("name", "ranks"), [("all-to-all", 40), ("tree", 40)])
def test_the_limit_holds_while_a_model_is_written_down(name, ranks):
    form, distance = find(name).form(ranks), data_centre(ranks, seed=1)
    prove(find("ring").form(8), data_centre(8, seed=1), list(range(8)), 5.0, "cp-sat")
    start_s = time.process_time()
    verdict = prove(form, distance, list(range(ranks)), 0.5, "cp-sat")
    assert time.process_time() - start_s < 10.0
    assert verdict.outcome == "gave-up"
    assert 0.0 < verdict.lower_bound < verdict.cost


@pytest.mark.parametrize(("engine", "name"), [("cp-sat", "all-to-all"), ("z3", "all-to-all")])
def test_an_interrupt_while_a_model_is_written_down_ends_the_proof(engine, name, monkeypatch):
    # Z3's objects have finalisers, in which Python drops an interrupt; plink's commands see to it.
    monkeypatch.setattr(sys, "unraisablehook", interrupt_again)
    form, distance = find(name).form(24), data_centre(24, seed=1)
    order = np.random.default_rng(1).permutation(24).tolist()
    prove(find("ring").form(8), data_centre(8, seed=1), list(range(8)), 5.0, engine)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    start_s = time.process_time()
    verdict = prove(form, distance, order, 60.0, engine)
    assert time.process_time() - start_s < 20.0
    assert verdict.cost == pytest.approx(latency_cost(form, distance, verdict.order))
    assert verdict.seconds < 30.0


def test_an_interrupt_while_ctypes_converts_an_argument_ends_the_proof(monkeypatch):
    form, distance = find("all-to-all").form(8), data_centre(8, seed=1)
    reason = "argument 1: KeyboardInterrupt: "

    def look_below(*_, **__):
        raise ctypes.ArgumentError(reason)

    monkeypatch.setattr(proving, "_run_engine", look_below)
    verdict = prove(form, distance, list(range(8)), 5.0, "z3")
    assert (verdict.outcome, verdict.order) == ("gave-up", list(range(8)))
    reason = "argument 1: TypeError: wrong type"
    with pytest.raises(ctypes.ArgumentError):
        prove(form, distance, list(range(8)), 5.0, "z3")


def test_gives_up_at_once_where_a_model_would_be_too_large():
    distance = data_centre(64, seed=1)
    order = list(range(64))
    verdict = prove(find("halving-doubling").form(64), distance, order, 5.0, "cp-sat")
    assert (verdict.outcome, verdict.order) == ("gave-up", order)
    assert 0.0 < verdict.lower_bound < verdict.cost


@pytest.mark.parametrize(("engine", "package"), [("cp-sat", "ortools"), ("z3", "z3-solver")])
def test_a_missing_library_is_named_with_its_extra(engine, package, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] in ("ortools", "z3"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    for module in [name for name in sys.modules if name.startswith("plink.solvers.exact")]:
        if module.rpartition(".")[2].startswith(("cp_", "smt")):
            monkeypatch.delitem(sys.modules, module)
    exact = sys.modules["plink.solvers.exact"]
    for module in ("cp_sat", "smt"):
        monkeypatch.delattr(exact, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    form, distance = find("ring").form(8), data_centre(8, seed=1)
    with pytest.raises(EngineMissingError) as caught:
        prove(form, distance, worst_of_some(form, distance), 5.0, engine)
    assert caught.value.package == package


@given(distance_matrices(2, 6), st.sampled_from(forms.ANY), st.data())
def test_whole_units_are_below_the_cost_by_the_tolerance_at_most(distance, name, data):
    form = forms.form_of(name, len(distance))
    form = merge_rounds(form) if isinstance(form, RoundsForm) else form
    order = data.draw(st.permutations(range(form.ranks)))
    whole = whole_terms(form, distance)
    cost = latency_cost(form, distance, order)
    units = whole.cost(form, order) * whole.unit
    assert units <= cost * (1 + 1e-12)
    assert cost <= units + whole.tolerance * (1 + 1e-9)


@pytest.mark.parametrize("engine", ["cp-sat", "z3"])
def test_ctrl_c_means_what_it_did_after_a_proof(engine):
    # In a process of its own: a signal that nobody handles would end this one.
    code = f"""
import os, signal
import numpy as np
from plink.solvers.collectives.registry import find
from plink.solvers.exact.prove import prove
above = np.triu(np.random.default_rng(1).uniform(20.0, 140.0, (6, 6)), 1)
prove(find("tree").form(6), above + above.T, range(6), 10.0, "{engine}")
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    print("heard")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("heard\n", 0), done.stderr
