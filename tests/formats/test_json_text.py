import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plink.formats import json_text
from plink.formats.matrices import Array


def by_python(matrix: Array) -> str:
    """The rows as Python's own JSON has them, which wrote the files of earlier versions."""
    is_whole = matrix.dtype.kind == "i"
    rows = [
        [None if math.isnan(value) or (is_whole and value < 0) else value for value in row]
        for row in matrix.tolist()
    ]
    return '{\n "m": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]\n}\n"


@given(arrays(np.float64, (2, 3), elements=st.floats(allow_infinity=False)))
@example(np.array([[1e-4, 9.9e-5, 1e15], [1e16, 0.0, -0.0]]))
@example(np.array([[5e-324, math.nan, 1.7976931348623157e308]]))
def test_numbers_are_written_as_python_writes_them(matrix: Array) -> None:
    assert "".join(json_text.pieces({"m": matrix})) == by_python(matrix)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, "<i8"])
def test_whole_numbers_are_written_as_python_writes_them(kind: object) -> None:
    matrix = np.array([[0, 1, 100], [-1, 7, 127]], dtype=kind)  # type: ignore[call-overload]
    assert "".join(json_text.pieces({"m": matrix})) == by_python(matrix)


def test_rows_may_lie_anywhere_in_memory() -> None:
    matrix = np.arange(12.0).reshape(4, 3).T
    assert "".join(json_text.pieces({"m": matrix})) == by_python(matrix)
    matrix.flags.writeable = False
    assert "".join(json_text.pieces({"m": matrix[:, ::2]})) == by_python(matrix[:, ::2])


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        "".join(json_text.pieces({"m": np.array([[1.0, math.inf]])}))
