"""Windows of measurements as logs keep them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from plink.autotune.tuner.interface import Window
from plink.autotune.tuner.snapshot import WindowRecord

HOSTS = 2


def window() -> Window:
    flows = np.arange(4.0).reshape(HOSTS, HOSTS)
    return Window(3, np.ones(5), flows, flows, flows, np.ones(HOSTS), {"all-reduce": 1e6})


def test_a_window_comes_back_as_it_was() -> None:
    back = WindowRecord.of(window()).to_window(HOSTS)
    assert back.bytes_of == window().bytes_of
    assert np.array_equal(back.sent_bytes, window().sent_bytes)


@pytest.mark.parametrize("bytes_of", [10**19, [1], "x", None, {"all-reduce": "much"}])
def test_bytes_of_collectives_are_an_object_of_numbers(bytes_of: object) -> None:
    record = {**msgspec.to_builtins(WindowRecord.of(window())), "bytes_of": bytes_of}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(record, WindowRecord)
