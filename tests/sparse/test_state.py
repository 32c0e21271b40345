"""The algebra of chunks that are held back, against plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.training.sparse.chunks import Chunks
from plink.training.sparse.corrections import CORRECTIONS, Correction, step_printed, step_shared
from plink.training.sparse.ramp import sent_chunks, sparsity_at
from plink.training.sparse.selection import largest, measure
from plink.training.sparse.state import State
from sparse import oracle
from sparse.oracle import Gradients, Settings, Trained

SEVEN = Settings("paper", items=23, chunk=4, ranks=3, sparsity=0.7, warmup_steps=20)


def drawn_gradients(settings: Settings, seed: int) -> Gradients:
    """Of a bowl that each rank sees with noise of its own."""
    rng = np.random.default_rng(seed)
    steepness = rng.uniform(0.05, 1.0, settings.items)

    def gradients(step: int, weights: Sequence[float]) -> list[list[float]]:
        own = np.random.default_rng((seed, step)).normal(size=(settings.ranks, settings.items))
        moved: list[list[float]] = (steepness * np.array(weights) + 0.3 * own).tolist()
        return moved

    return gradients


def trained(one: Settings, gradients: Gradients, weights: list[float], steps: int) -> Trained:
    """As the oracle, by `State`."""
    chunks = Chunks(one.items, one.chunk)
    states = [
        State(chunks, one.correction, np.zeros(one.items), np.zeros(one.items))  # type: ignore[arg-type]
        for _ in range(one.ranks)
    ]
    sent = np.ones(len(chunks), dtype=np.bool_)
    at = np.array(weights)
    result = Trained()
    for step in range(steps):
        own = np.array(gradients(step, at.tolist()))
        norms = np.zeros(len(chunks))
        mean = np.full(one.items, np.nan)
        for where in chunks.spans(sent):
            mean[where] = 0
        for state, gradient in zip(states, own, strict=True):
            for where in chunks.spans(state.own_now(sent)):
                gradient[where] += one.decay * at[where]
            for where, values in state.outgoing(
                gradient, sent, one.momentum, nesterov=one.is_nesterov
            ):
                mean[where] += values / one.ranks
            held = np.zeros(len(chunks))
            for where, values in state.waiting(
                gradient, sent, one.momentum, nesterov=one.is_nesterov
            ):
                measure(held, where.start // one.chunk, values, one.chunk)
            norms += held
        for where in chunks.spans(sent):
            measure(norms, where.start // one.chunk, one.ranks * mean[where], one.chunk)
        for where in chunks.spans(sent & ~states[0].own_now(sent)):
            mean[where] += one.decay * at[where]
        moves = [
            list(
                state.step(gradient, mean.__getitem__, sent, one.momentum, nesterov=one.is_nesterov)
            )
            for state, gradient in zip(states, own, strict=True)
        ]
        for where, move in moves[0]:
            at[where] -= one.rate * move
        for others in moves[1:]:
            for (where, move), (there, theirs) in zip(moves[0], others, strict=True):
                assert where == there
                assert np.array_equal(move, theirs)
        result.weights.append(at.tolist())
        result.sent.append(np.flatnonzero(sent).tolist())
        count = sent_chunks(len(chunks), sparsity_at(step + 1, one.sparsity, one.warmup_steps))
        sent = largest(norms, count)
    return result


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize(("is_nesterov", "decay"), [(False, 0.0), (True, 0.01)])
def test_200_steps_are_those_of_plain_loops(
    correction: str, is_nesterov: bool, decay: float
) -> None:
    one = Settings(correction, 23, 4, 3, 0.7, 20, is_nesterov=is_nesterov, decay=decay)
    gradients, weights = drawn_gradients(one, 1), np.linspace(-2, 2, 23).tolist()
    ours, theirs = trained(one, gradients, weights, 200), oracle.train(one, gradients, weights, 200)
    assert ours.sent == theirs.sent
    assert np.allclose(ours.weights, theirs.weights, rtol=0, atol=1e-12)
    assert len({len(sent) for sent in ours.sent}) > 2


TRAININGS = st.builds(
    Settings,
    correction=st.sampled_from(CORRECTIONS),
    items=st.integers(1, 20),
    chunk=st.integers(1, 8),
    ranks=st.integers(1, 4),
    sparsity=st.floats(0, 0.99),
    warmup_steps=st.integers(0, 6),
)


@given(TRAININGS, st.integers(0, 1000))
@settings(deadline=None, max_examples=20)
def test_any_training_is_that_of_plain_loops(one: Settings, seed: int) -> None:
    gradients, weights = drawn_gradients(one, seed), [1.0] * one.items
    ours, theirs = trained(one, gradients, weights, 12), oracle.train(one, gradients, weights, 12)
    assert ours.sent == theirs.sent
    assert np.allclose(ours.weights, theirs.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_without_sparsity_it_is_dense_training(correction: str) -> None:
    one = Settings(correction, 23, 4, 3, 0.0, 0)
    gradients = drawn_gradients(one, 2)
    weights, velocity = np.ones(23), np.zeros(23)
    sparse = trained(one, gradients, weights.tolist(), 50)
    for step in range(50):
        own = np.array(gradients(step, weights.tolist()))
        mean = np.zeros(23)
        for gradient in own:
            mean += gradient / 3
        weights = weights - 0.05 * step_shared(mean, velocity, 0.9)
        assert weights.tolist() == sparse.weights[step]


@pytest.mark.parametrize("period", [7, 20])
def test_the_papers_residual_loses_a_known_share_of_a_constant_gradient(period: int) -> None:
    # (1 - mu^p) / (p (1 - mu)): 75 and 44 per cent; the other corrections lose nothing.
    def moved(correction: Correction, cycles: int) -> float:
        state = State(Chunks(1, 1), correction, np.zeros(1), np.zeros(1))
        mean = np.zeros(1)
        total = 0.0
        for step in range(cycles * period):
            sent = np.array([step % period == period - 1])
            for _, values in state.outgoing(np.ones(1), sent, 0.9):
                mean[:] = values
            for _, move in state.step(np.ones(1), mean.__getitem__, sent, 0.9):
                if step >= (cycles - 50) * period:
                    total += float(move[0])
        return total / (50 * period) / 10  # a dense step is 1 / (1 - mu)

    share = (1 - 0.9**period) / (period * 0.1)
    assert moved("paper", 200) == pytest.approx(share, rel=1e-6)
    assert moved("dgc", 200) == pytest.approx(1.0, rel=1e-6)
    assert moved("dgc-masked", 200) < 1.0


def test_as_printed_it_climbs() -> None:
    weights, velocity = np.array([1.0]), np.zeros(1)
    for _ in range(10):
        step_printed(2 * weights, velocity, weights, 0.9, 0.1)
    assert weights[0] > 1.0
    velocity[:], weights[:] = 0, 1.0
    for _ in range(10):
        weights -= 0.1 * step_shared(2 * weights, velocity, 0.9)
    assert abs(weights[0]) < 1.0
