"""Options that cannot be, alone or together, are refused in a sentence; the others travel."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats.structs import convert
from plink.hub.hyper import OPTIMIZERS
from plink.hub.service import (
    COMMITS,
    LOSS_POLICIES,
    MODES,
    WIRES,
    Quotas,
    ServiceOptions,
)

ANY = {
    "optimizer": st.sampled_from(OPTIMIZERS),
    "mode": st.sampled_from(MODES),
    "staleness": st.integers(0, 3),
    "commit": st.sampled_from(COMMITS),
    "on_loss": st.sampled_from(LOSS_POLICIES),
    "grace_s": st.sampled_from([0.0, 1.5]),
    "deterministic": st.booleans(),
    "wire": st.sampled_from(WIRES),
    "clip_norm": st.sampled_from([None, 1.0]),
    "skip_nonfinite": st.booleans(),
    "weight": st.floats(0.5, 2.0),
    "quotas": st.builds(Quotas, bytes=st.integers(1, 1 << 40)),
}


@given(st.fixed_dictionaries({}, optional=ANY))
def test_what_is_taken_makes_sense_and_travels(given_options: dict[str, Any]) -> None:
    try:
        options = ServiceOptions("job", 4, **given_options)
    except WrongUseError:
        return
    assert convert(msgspec.to_builtins(options), ServiceOptions, "m") == options
    if options.mode != "sync":
        assert (options.commit, options.deterministic) == ("stream", False)
    if options.commit == "stream":
        assert options.clip_norm is None
        assert not options.skip_nonfinite
        assert options.on_loss != "shrink" or options.mode != "sync"
    assert (options.grace_s > 0) == (options.on_loss == "wait")


REFUSED = {
    "staleness has no meaning in mode async": {"mode": "async", "staleness": 1},
    "commit step needs the gradients of all workers, which mode ssp does not wait for": {
        "mode": "ssp",
        "commit": "step",
    },
    "a fixed order of additions needs mode sync, not async": {
        "mode": "async",
        "deterministic": True,
    },
    "clip_norm needs the norm of all gradients before the first of them is used": {
        "clip_norm": 1.0
    },
    "skip_nonfinite must see all gradients before the first of them is used": {
        "skip_nonfinite": True
    },
    "without an optimiser there is nothing that mode async could change": {
        "mode": "async",
        "optimizer": "none",
    },
    "grace_s has no meaning with on_loss fail": {"grace_s": 3.0},
    "on_loss wait needs grace_s, how long to wait": {"on_loss": "wait"},
    "on_loss shrink needs chunks that are stepped together: else some would be means with the lost "
    "worker and some without": {"on_loss": "shrink"},
    "mode is 'fast', expected one of sync, async, ssp": {"mode": "fast"},
    "chunk_bytes is 1000, expected `int` >= 1024": {"chunk_bytes": 1000},
    "clip_norm is 0.0, expected `float` > 0.0": {"clip_norm": 0.0},
    "a service of 5 workers, expected 1 to 4": {"workers": 5, "quotas": Quotas(workers=4)},
    "namespace is '../x', expected a namespace: letters, digits, _, . and -, 64 at most": {
        "namespace": "../x"
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        ServiceOptions(**{"namespace": "job", "workers": 2, **REFUSED[message]})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"namespace": "a"},
        {"namespace": "a", "workers": 0},
        {"namespace": "a", "workers": 1, "optimiser": "sgd"},
        {"namespace": "a", "workers": 1, "quotas": {"bytes": 0}},
        {"namespace": "a", "workers": 1, "weight": 0.0},
        {"namespace": "a", "workers": 1, "mode": 3},
    ],
)
def test_a_wrong_message_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(WrongUseError):
        convert(values, ServiceOptions, "message")
