import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from plink.show.scale import SHADES, Scale, colour, scale_for, shade
from plink.show.terminal.heatmap import Picture, draw, legend
from show.racks import FAR_US, NEAR_US, racks

SCALE = Scale(NEAR_US, FAR_US)
NEAR, FAR = colour(0.0), colour(1.0)


def plain(picture: Picture) -> list[str]:
    return [line.plain for line in picture.lines]


def backgrounds(line: Text) -> list[str | None]:
    """The background colour of every character."""
    found: list[str | None] = [None] * len(line.plain)
    for span in line.spans:
        style = span.style if not isinstance(span.style, str) else None
        if style is not None and style.bgcolor is not None:
            found[span.start : span.end] = [style.bgcolor.name] * (span.end - span.start)
    return found


def test_shades_of_two_racks() -> None:
    near, far = NEAR_US, FAR_US
    readings = np.array([[0, near, far], [near, 0, np.nan], [far, far, 0]])
    np.fill_diagonal(readings, np.nan)
    picture = draw(readings, ["a", "bb", "c"], [0, 1, 2], SCALE, width=40, shades=SHADES)
    assert plain(picture) == ["a  ··██  ", "bb ██··××", "c      ··"]
    assert (picture.width, picture.hosts_per_cell) == (9, 1)


def test_the_order_is_that_of_rows_and_columns() -> None:
    readings = np.array(
        [[np.nan, NEAR_US, FAR_US], [FAR_US, np.nan, FAR_US], [FAR_US] * 2 + [np.nan]]
    )
    picture = draw(readings, ["a", "b", "c"], [2, 1, 0], SCALE, width=40, shades=SHADES)
    assert plain(picture) == ["c ··    ", "b   ··  ", "a   ██··"]


def test_colours_of_two_racks() -> None:
    readings = np.array([[np.nan, NEAR_US], [FAR_US, np.nan]])
    picture = draw(readings, ["a", "b"], [0, 1], SCALE, width=40)
    assert backgrounds(picture.lines[0])[2:] == [None, None, NEAR, NEAR]
    assert backgrounds(picture.lines[1])[2:] == [FAR, FAR, None, None]


def test_many_hosts_take_half_a_line_each() -> None:
    made = racks(8, 8)
    picture = draw(made.readings_us, made.cluster.names, range(64), SCALE, width=80)
    assert len(picture.lines) == 32
    assert picture.width == 64 + len("gpu00 ")
    assert picture.lines[1].plain.startswith("gpu02 ")
    assert set(picture.lines[1].plain[6:]) == {"▀", "▄"}


def test_an_odd_number_of_rows_ends_in_a_half() -> None:
    made = racks(5, 5)
    picture = draw(made.readings_us, made.cluster.names, range(25), SCALE, width=50)
    assert len(picture.lines) == 13
    assert set(backgrounds(picture.lines[-1])) == {None}


@pytest.mark.parametrize("shades", [None, SHADES])
@given(
    hosts=st.integers(1, 90), width=st.integers(10, 200), missing=st.sampled_from([0.0, 0.5, 1.0])
)
def test_a_picture_fits(shades: str | None, hosts: int, width: int, missing: float) -> None:
    made = racks(1, hosts, missing=missing)
    scale = scale_for(made.readings_us[np.isfinite(made.readings_us)])
    picture = draw(
        made.readings_us, made.cluster.names, range(hosts), scale, width=width, shades=shades
    )
    assert picture.width <= width
    assert len(picture.lines) <= 40
    assert all(line.cell_len == picture.width for line in picture.lines)
    assert picture.hosts_per_cell >= 1


def test_a_cell_of_many_hosts_is_their_median() -> None:
    generator = np.random.default_rng(3)
    readings = generator.uniform(NEAR_US, FAR_US, (96, 96))
    readings[generator.random((96, 96)) < 0.2] = np.nan
    np.fill_diagonal(readings, np.nan)
    order = [int(index) for index in generator.permutation(96)]
    picture = draw(readings, ["h"] * 96, order, SCALE, width=34, shades=SHADES)
    size = picture.hosts_per_cell
    assert size == 6
    for i, line in enumerate(plain(picture)):
        for j in range(96 // size):
            block = readings[
                np.ix_(order[i * size : (i + 1) * size], order[j * size : (j + 1) * size])
            ]
            position = float(SCALE.positions(np.array([np.nanmedian(block)]))[0])
            assert line[2 + 2 * j : 4 + 2 * j] == shade(position, SHADES) * 2


def test_wide_characters_and_long_names_keep_the_columns() -> None:
    readings = np.full((2, 2), NEAR_US)
    names = ["機械機械機械機械機械機械", "a-name-that-goes-on-and-on.example"]
    picture = draw(readings, names, [0, 1], SCALE, width=80, shades=SHADES)
    assert {line.cell_len for line in picture.lines} == {picture.width}
    assert plain(picture)[1].startswith("a-name-that-goe… ")


def test_a_legend_names_both_ends() -> None:
    assert legend(SCALE, has_gaps=False).plain.split("▌")[0] == "22.0 µs "
    assert legend(SCALE, has_gaps=False).plain.endswith(" 50.0 µs")
    assert legend(SCALE, has_gaps=True).plain.endswith("██ not measured")
    shaded = legend(SCALE, has_gaps=True, shades=SHADES).plain
    assert shaded.startswith("up to ██ 25.9 µs ▓▓ 30.6 µs ")
    assert shaded.endswith(" ░░ 42.4 µs, blank: more  ×× not measured")
    assert len(shaded) <= 80


@given(st.floats(0.001, 6e7), st.floats(0.001, 6e7))
def test_a_scale_orders_colours_as_values(a: float, b: float) -> None:
    scale = scale_for(np.array([a, b]))
    near, far = scale.positions(np.array([min(a, b), max(a, b)]))
    assert 0.0 <= near <= far <= 1.0
    assert SHADES.index(shade(near, SHADES)) <= SHADES.index(shade(far, SHADES))
    assert scale.high / scale.low >= 1.2499


def test_noise_alone_does_not_look_like_structure() -> None:
    values = 22.0 * (1 + np.random.default_rng(1).normal(0, 0.005, 1000))
    positions = scale_for(values).positions(values)
    assert positions.max() - positions.min() < 0.2


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0, 5.0]])
def test_a_scale_stands_without_distances(values: list[float]) -> None:
    positions = scale_for(np.array(values)).positions(np.array([0.0, 1.0, np.nan]))
    assert ((positions[:2] >= 0) & (positions[:2] <= 1)).all()
    assert np.isnan(positions[2])


def test_the_scale_grows_darker_all_the_way() -> None:
    def luminance(position: float) -> float:
        red, green, blue = (int(colour(position)[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    steps = [luminance(step / 50) for step in range(51)]
    assert steps == sorted(steps, reverse=True)
