import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from formats.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.formats import cluster, document, matrix_csv
from plink.formats.limits import MAX_RTT_US
from plink.formats.matrices import Matrix
from plink.measure.importing.source import import_matrix
from support.host_names import HOST_NAMES

NAMES = st.lists(HOST_NAMES, min_size=1, max_size=6, unique=True)
UNITS = st.sampled_from(sorted(matrix_csv.UNITS))


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[str], Matrix]:
    names = draw(NAMES)
    values = st.floats(0.0, MAX_RTT_US) | st.just(math.nan)
    matrix = draw(arrays(np.float64, (len(names), len(names)), elements=values))
    np.fill_diagonal(matrix, np.nan)
    return names, matrix


def parse(text: str, unit: str | None = None) -> matrix_csv.NamedMatrix:
    return matrix_csv.parse(text.encode(), "m.csv", unit)


@given(matrices(), UNITS, UNITS)
def test_export_and_import_give_the_same_to_the_last_bit(
    named: tuple[list[str], Matrix], first_unit: str, second_unit: str
) -> None:
    names, matrix = named
    for unit in (first_unit, second_unit):
        found = matrix_csv.parse(matrix_csv.render(names, matrix, unit), "m.csv")
        assert list(found.names) == names
        assert found.unit == unit
        assert not found.notes
        np.testing.assert_array_equal(found.rtt_us, matrix)


@given(matrices(), UNITS)
def test_import_export_import_is_the_identity(named: tuple[list[str], Matrix], unit: str) -> None:
    text = matrix_csv.render(*named, unit)
    first = import_matrix(text, "m.csv", unit=None, percentile=10.0)
    stored = cluster.parse_cluster(document.dump(cluster.encode_cluster(first)), "c.json")
    assert stored.rtt is not None
    assert matrix_csv.render(stored.names, stored.rtt.readings_us, unit) == text


@given(
    st.decimals(0, 59, places=6, allow_nan=False), st.sampled_from([("s", 6), ("ms", 3), ("us", 0)])
)
def test_a_unit_shifts_the_decimal_point(value: object, unit: tuple[str, int]) -> None:
    found = parse(f"{unit[0]},a,b\na,,{value}\nb,,\n")
    assert found.rtt_us[0, 1] == float(f"{value:f}e{unit[1]}")  # type: ignore[str-format]


@given(st.binary(max_size=60) | st.text(st.sampled_from('us,ab\n"0.-é\x00;'), max_size=60))
def test_no_content_breaks_the_parser(content: bytes | str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    assert is_one_sentence(refusal(lambda: matrix_csv.parse(data, "m.csv", "us")), "m.csv")


@pytest.mark.parametrize(
    "text",
    [
        "ms,a,b\na,0,0.5\nb,,0\n",
        "\ufeffms,a,b\r\na,0,0.5\r\nb,,0\r\n",
        'MS , a ,"b"\n a ,, +500e-3 \nb,,\n\n\n',
        "ms,a,b\na,0.0,.5\nb,,",
        "\nms,a,b\n\na,0,5E-1\n,,\nb,,\n",
    ],
)
def test_spellings_of_one_matrix(text: str) -> None:
    found = parse(text)
    assert list(found.names) == ["a", "b"]
    np.testing.assert_array_equal(found.rtt_us, [[np.nan, 500.0], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("corner", "option", "unit"),
    [
        ("us", None, "us"),
        ("µs", None, "us"),
        ("μs", "us", "us"),
        ("US", None, "us"),
        ("ns", "ns", "ns"),
        ("", "s", "s"),
        ("host", "ms", "ms"),
    ],
)
def test_where_the_unit_comes_from(corner: str, option: str | None, unit: str) -> None:
    assert parse(f"{corner},a\na,\n", option).unit == unit


@pytest.mark.parametrize(
    ("corner", "option", "reason"),
    [
        ("", None, "row 1, column 1 is empty, expected the unit of all times, ns, us, ms or s"),
        (
            "host",
            None,
            "row 1, column 1 is 'host', expected the unit of all times, ns, us, ms or s",
        ),
        ("Gbit/s", None, "has bandwidths in Gbit/s, expected round-trip times"),
        ("ms", "us", "row 1, column 1 says ms, but the unit us was given"),
    ],
)
def test_where_the_unit_stays_unknown(corner: str, option: str | None, reason: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        parse(f"{corner},a\na,\n", option)
    # A pattern would be matched with the notes too, of which the hint is one.
    assert str(caught.value) == f"m.csv: {reason}"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("us\n", "row 1 names no hosts"),
        ("us;a;b\na;0;1\nb;1;0\n", "row 1 names no hosts"),
        ("us,a,a\n", "row 1, column 3: host 'a' is also in column 2"),
        ("us,a,\n", "row 1, column 3: '' is not a host name"),
        ("us,a,b c\n", "row 1, column 3: 'b c' is not a host name"),
        ("us,a,-b\n", "row 1, column 3: '-b' begins with a dash"),
        ("us,a,b\na,0,1\n", "has 1 rows below row 1, expected 2, one per host"),
        ("us,a\na,0\nb,0\n", "has 2 rows below row 1, expected 1, one per host"),
        ("us,a,b\nb,0,1\na,1,0\n", "row 2, column 1 is 'b', expected 'a'"),
        ("us,a,b\na,0,1\na,1,0\n", "row 3, column 1 is 'a', expected 'b'"),
        ("us,a,b\na,0\nb,1,0\n", "row 2 ('a') has 1 values, expected 2"),
        ("us,a,b\na,0,1,2\nb,1,0\n", "row 2 ('a') has 3 values, expected 2"),
        ("us,a,b\na,0,x\nb,1,0\n", "row 2 ('a'), column 3 ('b'): 'x' is not a number"),
        ("us,a,b\na,0,1\nb,nan,0\n", "row 3 ('b'), column 2 ('a'): 'nan' is not a number"),
        ("us,a,b\na,0,inf\nb,1,0\n", "'inf' is not a number"),
        ("us,a,b\na,0,1_0\nb,1,0\n", "'1_0' is not a number"),
        ("us,a,b\na,0,٣\nb,1,0\n", "'٣' is not a number"),
        ("us,a,b\na,0,1e99999\nb,1,0\n", "is not a number"),
        ("us,a,b\na,0,-1\nb,1,0\n", "row 2 ('a'), column 3 ('b'): '-1' is negative"),
        ("us,a,b\na,-1,1\nb,1,0\n", "row 2 ('a'), column 2 ('a'): '-1' is negative"),
        ("s,a,b\na,0,61\nb,1,0\n", "'61' s is more than 60 s"),
        ("us,a,b\na,0,1e999\nb,1,0\n", "'1e999' us is more than 60 s"),
        ('us,a,b\na,0,"1\nb,1,0\n', "not CSV"),
        ('us,a\na,"0"0\n', "not CSV"),
    ],
)
def test_what_is_not_a_matrix(text: str, reason: str) -> None:
    with pytest.raises(WrongUseError, match=f"^m.csv: .*{re.escape(reason)}") as caught:
        parse(text)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"\xff\xfeu\x00s\x00", b"us,\xe9\n", bytes(range(256))])
def test_what_is_not_text(content: bytes) -> None:
    with pytest.raises(WrongUseError, match=r"^m.csv: must be text in UTF-8"):
        matrix_csv.parse(content, "m.csv")


def test_a_cell_without_end() -> None:
    with pytest.raises(WrongUseError, match=r"m.csv: row 2: not CSV .*limit"):
        parse("us,a,b\na,0," + "9" * 200_000 + "\nb,,\n")


def test_directions_are_kept_apart() -> None:
    np.testing.assert_array_equal(
        parse("us,a,b\na,,1\nb,2,\n").rtt_us, [[np.nan, 1.0], [2.0, np.nan]]
    )


@pytest.mark.parametrize(("diagonal", "note"), [("0", None), ("", None), ("7.1", "2 values on")])
def test_the_diagonal_does_not_count(diagonal: str, note: str | None) -> None:
    found = parse(f"us,a,b\na,{diagonal},1\nb,1,{diagonal}\n")
    assert np.isnan(found.rtt_us.diagonal()).all()
    assert [text[:11] for text in found.notes] == ([] if note is None else [note])


def test_numbers_are_written_as_people_write_them() -> None:
    matrix = np.array([[np.nan, 50.0, 0.0252041], [1e-7, np.nan, 6e7], [np.nan, 22.1, np.nan]])
    text = matrix_csv.render(["a", "b", "c"], matrix, "ns").decode()
    assert text == "ns,a,b,c\na,0,50000,25.2041\nb,0.0001,0,60000000000\nc,,22100,0\n"


def test_an_imported_cluster() -> None:
    content = b"us,a,b\na,3,1\nb,,0\n"
    found = import_matrix(content, "m.csv", unit="µs", percentile=50.0)
    assert found.hosts == [cluster.Host("a", "a"), cluster.Host("b", "b")]
    assert found.made_from == document.digest(content)
    assert found.rtt is not None
    assert (found.rtt.tool, found.rtt.reading, dict(found.rtt.options)) == (
        "import",
        50.0,
        {"unit": "us"},
    )
    np.testing.assert_array_equal(found.rtt.samples, [[0, 1], [0, 0]])
    assert not found.rtt.losses.any()
    assert len(found.rtt.notes) == 1
