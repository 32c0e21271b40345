"""How sure groups are: what is said, what would tell more, and which pairs meet again for it."""

from __future__ import annotations

import numpy as np
import pytest

import plink.optimize.groups.certainty
from grouping.passes import passed
from plink.base.replacing import replace
from plink.formats.groups import DoubtfulHost
from plink.optimize.groups.certainty import more_passes, stop_when_groups_are_certain
from plink.optimize.groups.finding import find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.show.groups import group_lines
from plink.solvers.groups.levels import SURE


def found_in(cluster):
    return with_groups(cluster, find_groups(cluster, GroupRequest()))


def test_clear_groups_are_sure_and_found_in_either_half():
    cluster, _ = passed([4, 5, 3])
    grouped = found_in(cluster)
    assert grouped.grouping.probability >= SURE
    assert grouped.grouping.confirmed == 1.0
    assert not grouped.grouping.doubtful
    assert more_passes(grouped) is None
    assert any(line.startswith("groups: sure") for line in group_lines(grouped))


def test_more_passes_are_advised_where_they_may_help():
    cluster, _ = passed([4, 5, 3], noise=0.1)
    grouped = found_in(cluster)
    unsure = replace(grouped, grouping=replace(grouped.grouping, probability=0.9))
    advice = more_passes(unsure)
    assert (advice.further, advice.passes, advice.seconds) == (3, 6, 6.0)
    (line,) = [line for line in group_lines(unsure) if "to become sure" in line]
    assert line.endswith(
        "3 more passes, about 6 s of probing: plink probe --resume FILE --passes 6"
    )


def test_no_passes_are_advised_where_all_agree_or_nothing_is_open():
    cluster, _ = passed([4, 5, 3], noise=0.0001)
    grouped = found_in(cluster)
    agreeing = replace(grouped, grouping=replace(grouped.grouping, probability=0.9))
    assert more_passes(agreeing) is None
    noisy = found_in(passed([4, 5, 3], noise=0.1)[0])
    closed = replace(noisy, grouping=replace(noisy.grouping, probability=0.01, doubtful=[]))
    assert more_passes(closed) is None
    single = replace(noisy.rtt, passes=None, halves_us=None)
    unsure = replace(noisy.grouping, probability=0.9)
    assert more_passes(replace(noisy, rtt=single, grouping=unsure)) is None


def test_hosts_that_met_often_are_not_advised_to_meet_again():
    cluster, _ = passed([4, 5, 3], noise=0.1)
    grouped = found_in(cluster)
    unsure = replace(grouped, grouping=replace(grouped.grouping, probability=0.9))
    often = replace(unsure.rtt, passes=np.where(unsure.rtt.passes > 0, 12, 0))
    assert more_passes(unsure) is not None
    assert more_passes(replace(unsure, rtt=often)) is None


def test_the_question_is_settled_once_three_looks_agree():
    cluster, _ = passed([4, 5, 3])
    policy = stop_when_groups_are_certain()
    answers = []
    for _ in range(5):
        assert list(policy.hinges(cluster)) == []
        answers.append(policy.answer(cluster))
    assert answers[0] != answers[1]
    assert answers[1] != answers[2]
    assert answers[2] == answers[3] == answers[4]


def test_a_doubtful_host_meets_members_of_both_groups_again(monkeypatch):
    cluster, rack = passed([5, 5, 5], seed=3)
    # The third rack is farther from the first than the second is.
    for half in cluster.rtt.halves_us:
        half[:5, 10:] *= 1.3
        half[10:, :5] *= 1.3
    rtt = replace(cluster.rtt, rtt_us={10.0: np.fmin(*cluster.rtt.halves_us)})
    cluster = replace(cluster, rtt=rtt)
    found = find_groups(cluster, GroupRequest())
    doubtful = [DoubtfulHost("h2", 0.6)]
    unsure = replace(found, grouping=replace(found.grouping, doubtful=doubtful))
    monkeypatch.setattr(plink.optimize.groups.certainty, "find_groups", lambda *_: unsure)
    pairs = list(stop_when_groups_are_certain().hinges(cluster))
    assert {pair[0] for pair in pairs} == {2}
    assert [rack[pair[1]] for pair in pairs] == [0] * 4 + [1] * 4


def test_a_question_about_too_little_is_no_question():
    cluster, _ = passed([1])
    policy = stop_when_groups_are_certain()
    assert list(policy.hinges(cluster)) == []
    assert policy.answer(cluster) != policy.answer(cluster)


@pytest.mark.parametrize("method", ["levels", "kmeans"])
def test_a_run_of_one_pass_is_grouped_like_a_file_without_passes(method):
    cluster, rack = passed([6, 6, 6], passes=1)
    nothing = np.full_like(cluster.rtt.readings_us, np.nan)
    one = replace(cluster.rtt, halves_us=(cluster.rtt.readings_us, nothing))
    found = find_groups(
        replace(cluster, rtt=one), GroupRequest(method=method, k=3), needs_points=True
    )
    assert found.denoised.embedding is not None
    assert sorted(len(group.hosts) for group in found.groups) == [6, 6, 6]
    assert len(rack) == 18


@pytest.mark.parametrize(("hosts", "partners"), [(4, 3), (2, 1), (9, 3)])
def test_too_few_measured_pairs_are_told_as_such(hosts: int, partners: int) -> None:
    rtt_us = np.full((hosts, hosts), np.nan)
    if hosts > 2:
        rtt_us[0, 1] = rtt_us[1, 2] = 10.0
    cluster = plink.MeasuredCluster.from_matrix([f"n{host}" for host in range(hosts)], rtt_us)
    with pytest.raises(plink.WrongUseError, match=f"at least {partners} other host"):
        plink.group(cluster)
