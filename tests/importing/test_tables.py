"""Tables that are no CSV: tabs, semicolons, Markdown; and numbers with a decimal comma."""

from __future__ import annotations

import pytest

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest

MARKDOWN = """\
# Latency between zones

| Average latency (ms) | dal-1 | dal-2 |
| --- | :---: | ---: |
| **dal-1** | 0.09 | 2.03 |
| `dal-2` | 2.04 | 0.09 |

Measured in August.
"""


def imported(text: str) -> Cluster:
    return import_content(text.encode(), "t.md", ImportRequest())


@pytest.mark.parametrize(
    "text",
    [
        MARKDOWN,
        MARKDOWN.replace("| --- | :---: | ---: |", "|---|---|---|"),
        MARKDOWN.replace("Measured in August.", "Measured in August | dal-3 was off | again"),
        "ms\tdal-1\tdal-2\ndal-1\t0.09\t2.03\ndal-2\t2.04\t0.09\n",
        "ms;dal-1;dal-2\ndal-1;0,09;2,03\ndal-2;2,04;0,09\n",
        "ms;dal-1;dal-2\r\ndal-1;0.09;2.03\r\ndal-2;2.04;0.09\r\n",
        "source\tdestination\trtt_ms\ndal-1\tdal-2\t2,03\ndal-2\tdal-1\t2,04\n",
        "source;destination;rtt_ms\ndal-1;dal-2;2,03\ndal-2;dal-1;2,04\n",
        "| from | to | ms |\n|---|---|---|\n| dal-1 | dal-2 | 2.03 |\n| dal-2 | dal-1 | 2.04 |\n",
    ],
)
def test_the_same_in_every_form(text: str) -> None:
    found = imported(text)
    assert found.names == ["dal-1", "dal-2"]
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == pytest.approx(2030.0)
    assert found.rtt.readings_us[1, 0] == pytest.approx(2040.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source;destination;gbit_s\na;b;9,412\n", "may be a decimal point or separate thousands"),
        (MARKDOWN + MARKDOWN, "holds 2 tables"),
        (MARKDOWN.replace("dal-2", "Dallas 2"), "'Dallas 2' is not a host name"),
        (MARKDOWN.replace("2.03", "n/a"), "'n/a' is not a number"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(WrongUseError, match=said):
        imported(text)


def test_a_name_with_blanks_gets_the_way() -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(MARKDOWN.replace("dal-2", "Dallas 2"))
    assert "Dallas-2" in (caught.value.hint or "")
