"""Numbers travel in fewer bits with the errors that those bits allow, and never look finite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plink.base.errors import WrongUseError
from plink.hub.encodings import decode, encode, encoded_bytes
from plink.hub.service import WIRES

FINITE = arrays.arrays(
    np.float32, st.integers(1, 40), elements=st.floats(-(2.0**15), 2.0**15, width=32)
)
ANY = arrays.arrays(np.float32, st.integers(1, 40), elements=st.floats(width=32))


@given(FINITE, st.sampled_from(WIRES))
def test_errors_are_those_of_the_type(values: np.ndarray, wire: str) -> None:
    data = encode(wire, values)
    assert len(data) == encoded_bytes(wire, len(values))
    found = decode(wire, data, len(values))
    assert found.dtype == np.float32
    largest = np.abs(values).max()
    most = {
        "float32": 0.0,
        "bfloat16": np.abs(values) * 2.0**-8 + 1e-40,
        "float16": np.abs(values) * 2.0**-11 + 2.0**-25,
        "int8": largest / 127 * 0.501 + 1e-44,
    }
    assert (np.abs(found - values) <= most[wire]).all()


@given(ANY, st.sampled_from(WIRES))
@example(np.array([np.finfo(np.float32).max], np.float32), "int8")
def test_what_is_not_finite_stays_so(values: np.ndarray, wire: str) -> None:
    found = decode(wire, encode(wire, values), len(values))
    if wire == "int8":
        assert np.isfinite(found).all() == np.isfinite(values).all()
    else:
        assert not np.isfinite(found[~np.isfinite(values)]).any()
        assert (np.isnan(found) == np.isnan(values)).all()


def test_bfloat16_rounds_to_even() -> None:
    values = np.array([1.0 + 2**-8, 1.0 + 3 * 2**-8, 1.0 + 2**-8 + 2**-20, -2.0], np.float32)
    found = decode("bfloat16", encode("bfloat16", values), 4)
    assert found.tolist() == [1.0, 1.0 + 2**-6, 1.0 + 2**-7, -2.0]


def test_bfloat16_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(1).integers(0, 1 << 32, 10_000, np.uint32).view(np.float32)
    expected = torch.from_numpy(values.copy()).to(torch.bfloat16).float().numpy()
    found = decode("bfloat16", encode("bfloat16", values), len(values))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    assert same.all()


def test_int8_is_a_scale_and_whole_numbers() -> None:
    values = np.array([0.0, 2.0, -254.0, 254.0], np.float32)
    data = encode("int8", values)
    assert data == np.float32(2.0).tobytes() + bytes([0, 1, 256 - 127, 127])
    assert decode("int8", encode("int8", np.zeros(3, np.float32)), 3).tolist() == [0.0] * 3


def test_wrong_lengths_are_refused() -> None:
    for wire in WIRES:
        with pytest.raises(WrongUseError, match="bytes are not 3 numbers"):
            decode(wire, b"123456789", 3)
    with pytest.raises(WrongUseError):
        decode("float64", b"", 0)
