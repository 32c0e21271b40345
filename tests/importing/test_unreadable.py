"""Output of programs that plink recognises, and that tells of no pairs of hosts."""

from __future__ import annotations

import pytest

from plink.base.errors import WrongUseError
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest

P2P = "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1\n     0   2.6  14.9\n"
NVBANDWIDTH = "nvbandwidth Version: v0.8\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
NCCL = "node1:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (P2P, "p2pBandwidthLatencyTest"),
        (NVBANDWIDTH, "nvbandwidth"),
        (f"\x1b[1m{NCCL}", "NCCL logs"),
        ('{"test_info": {"test": "RDMA_Write BW Test"}, "results": {}}', "perftest's JSON"),
        ('{"start": {}, "intervals": [], "end": {}}', "iperf3's JSON"),
        ("Connecting to host 10.0.0.2, port 5201\n", "iperf"),
        ("64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.1 ms\n", "ping"),
        ('{"a": 1}', "is JSON"),
    ],
)
def test_it_is_named_with_a_way_on(text: str, name: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        import_content(text.encode(), "out", ImportRequest())
    assert name in str(caught.value)
    assert caught.value.hint


CLUSTER = (
    b'{"format": "plink.cluster", "version": 1, "hosts": [{"name": "a", "address": "a"}],'
    b' "unreachable": []}'
)


@pytest.mark.parametrize(("content", "name"), [(CLUSTER, "c.json"), (b'hosts = "a"', "n.toml")])
@pytest.mark.parametrize(
    ("unit", "percentile", "size"), [("ms", 10.0, None), (None, 50.0, None), (None, 10.0, 4096)]
)
def test_options_are_refused_where_they_would_do_nothing(
    content: bytes, name: str, unit: str | None, percentile: float, size: int | None
) -> None:
    assert import_content(content, name, ImportRequest()).names[0] == "a"
    with pytest.raises(WrongUseError) as caught:
        import_content(content, name, ImportRequest(unit=unit, percentile=percentile, size=size))
    assert caught.value.hint
