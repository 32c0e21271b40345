"""What a diagnosis looked at comes with its date, unless it was measured while it ran."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from doctor.clusters import drawn
from plink.base.replacing import replace
from plink.doctor.coverage import list_coverage
from plink.doctor.evidence import Evidence

ASKED_AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("started", "asked_at", "when"),
    [
        ("2026-03-04T05:06:07+00:00", ASKED_AT, "measured now"),
        ("2026-03-04T05:06:06+00:00", ASKED_AT, "from a file, 2026-03-04 05:06 UTC"),
        ("2026-03-04T05:06:08Z", None, "from a file, 2026-03-04 05:06 UTC"),
        ("2026-03-04T07:06:08+02:00", ASKED_AT, "measured now"),
        ("2026-03-04T05:06:08", None, "from a file, 2026-03-04 05:06 UTC"),
        ("last Tuesday", ASKED_AT, "from a file, undated"),
        (None, ASKED_AT, "from a file, undated"),
    ],
)
def test_each_clause_says_when_it_was_measured(
    started: str | None, asked_at: datetime | None, when: str
) -> None:
    cluster = drawn(3).cluster()
    assert cluster.uplinks is not None
    dated = replace(cluster, uplinks=replace(cluster.uplinks, started=started))
    present = list_coverage(Evidence(dated, asked_at=asked_at)).present
    (links,) = (clause for clause in present if clause.startswith("hosts' links"))
    assert links == f"hosts' links ({len(cluster.hosts)} hosts, {when})"


def test_links_known_from_bandwidths_of_pairs_have_their_date() -> None:
    cluster = drawn(3).cluster(with_pairs=True)
    assert cluster.bandwidth is not None
    dated = replace(
        cluster,
        uplinks=None,
        bandwidth=replace(cluster.bandwidth, started="2026-01-02T03:04:05+00:00"),
    )
    present = list_coverage(Evidence(dated, asked_at=ASKED_AT)).present
    (links,) = (clause for clause in present if clause.startswith("hosts' links"))
    assert links.endswith("from a file, 2026-01-02 03:04 UTC)")
