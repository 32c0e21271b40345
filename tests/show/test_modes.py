import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plink.show.modes import find_modes, histogram_line

# Places in µs and shares of the modes: one rack, racks, rows, and near neighbours.
TRUTHS = [
    [(22.0, 1.0)],
    [(22.0, 0.2), (50.0, 0.8)],
    [(18.0, 0.1), (31.0, 0.3), (58.0, 0.6)],
    [(26.0, 0.5), (32.0, 0.5)],
    [(0.025, 0.02), (0.11, 0.4), (0.3, 0.58)],
]


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("seed", range(5))
def test_true_modes_are_found(truth: list[tuple[float, float]], seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = np.concatenate(
        [place * np.exp(generator.normal(0, 0.03, round(2000 * share))) for place, share in truth]
    )
    modes = find_modes(generator.permutation(values))
    assert len(modes) == len(truth)
    for mode, (place, share) in zip(modes, truth, strict=True):
        assert mode.rtt_us == pytest.approx(place, rel=0.02)
        assert mode.share == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0]])
def test_without_a_distance_there_is_no_mode(values: list[float]) -> None:
    assert find_modes(np.array(values)) == []


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(1e-3, 6e7)))
def test_modes_share_out_the_values(values: np.ndarray) -> None:
    modes = find_modes(values)
    assert 1 <= len(modes) <= len(values)
    places = [mode.rtt_us for mode in modes]
    assert places == sorted(places)
    assert values.min() * 0.999 <= places[0]
    assert places[-1] <= values.max() * 1.001
    assert sum(mode.share for mode in modes) == pytest.approx(1.0)


@given(arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 6e7)), st.integers(1, 80))
def test_a_histogram_shows_its_ends_and_its_peak(values: np.ndarray, width: int) -> None:
    line = histogram_line(values, width)
    assert len(line) <= width
    if values.size:
        assert "█" in line
        assert not line.startswith(" ")
        assert not line.endswith(" ")
    else:
        assert line == ""


def test_two_racks_are_two_hills() -> None:
    line = histogram_line(np.array([22.0] * 10 + [50.0] * 40), 20)
    assert line == "▂" + " " * 18 + "█"
