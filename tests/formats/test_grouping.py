"""How groups were found, as a cluster file holds it."""

from __future__ import annotations

import copy

import pytest

from plink.base.errors import WrongUseError
from plink.formats import cluster, document
from plink.formats.cluster import Cluster
from plink.formats.groups import DoubtfulHost, Grouping, GroupQuality, Partition
from plink.formats.hosts import Group, Host

HOSTS = [Host(name, f"10.0.0.{i}") for i, name in enumerate("abcde")]
GROUPING = Grouping(
    method="levels",
    matrix="raw",
    options={"k": 2},
    seed=7,
    probability=0.98,
    rival="all hosts are equally far from each other",
    confirmed=1.0,
    quality=[
        GroupQuality("g1", within_us=20.5, between_us=60.25, probability=0.99),
        GroupQuality("g2", within_gbit_s=9.5, between_gbit_s=4.0),
    ],
    doubtful=[DoubtfulHost("b", 0.75)],
    alone=["d"],
    unmeasured=["e"],
    levels=[Partition([["a", "b"], ["c"]])],
    notes=["a note"],
)
WHOLE = Cluster(HOSTS, groups=[Group("g1", ["a", "b"]), Group("g2", ["c"])], grouping=GROUPING)


def test_a_grouping_comes_back_as_it_was_written():
    content = document.dump(cluster.encode_cluster(WHOLE))
    found = cluster.parse_cluster(content, "c.json")
    assert (found.groups, found.grouping) == (WHOLE.groups, WHOLE.grouping)


def test_a_file_without_one_has_none():
    assert cluster.decode_cluster(cluster.encode_cluster(Cluster(HOSTS)), "c.json").grouping is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", ""),
        ("matrix", None),
        ("options", 3),
        ("seed", -1),
        ("probability", 1.5),
        ("rival", 3),
        ("doubtful", [{"host": "z", "probability": 0.5}]),
        ("doubtful", [{"host": "a", "probability": 2.0}]),
        ("confirmed", "yes"),
        ("quality", [{"group": "g1", "within_us": -1.0}]),
        ("quality", {}),
        ("alone", ["z"]),
        ("unmeasured", [3]),
        ("levels", [{"groups": [["z"]]}]),
        ("levels", [{"groups": ["a"]}]),
        ("levels", [{}]),
        ("notes", "none"),
    ],
)
def test_what_cannot_be_is_refused(field, value):
    data = copy.deepcopy(cluster.encode_cluster(WHOLE))
    data["grouping"][field] = value
    with pytest.raises(WrongUseError, match=r"^c\.json: "):
        cluster.decode_cluster(data, "c.json")
