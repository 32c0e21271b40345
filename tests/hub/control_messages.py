"""One of each message of control connections, who sends it, and JSON of any kind."""

from __future__ import annotations

from hypothesis import strategies as st

from plink.formats.outputs import HubService
from plink.hub.manifest import Key, Manifest
from plink.hub.placement import Port, Sites
from plink.hub.service import ServiceOptions
from plink.hub.session import messages as said
from plink.hub.session.messages import Message

SERVICE = HubService("job", 3, 4, 9, 9, 0, 1, 64, 8, 4096, 2048, None)
DIGEST = "0123456789abcdef" * 4
MANIFEST = Manifest((Key("w", (2, 3)), Key("b", (2,), 1, "bfloat16")), 2)
OPTIONS = ServiceOptions("job", 4, "adamw", commit="step", on_loss="wait", grace_s=3.5)
SITES = Sites(((Port(2), Port(1, 2.5)), (Port(),)))

SPOKEN: list[tuple[str, Message]] = [
    ("admin", said.Create(
        OPTIONS, "5a" * 16, SITES, (("10.0.0.9:7100",), ("[::1]:7100",)), 1, (), 0, ("h:1", "i:1")
    )),
    ("admin", said.Delete("job")),
    ("admin", said.Ask()),
    ("worker", said.Ask("job")),
    ("admin", said.Checkpoint("job")),
    ("admin", said.Restore("job", "job-12.snapshot")),
    ("worker", said.Join(DIGEST)),
    ("worker", said.Join(DIGEST, MANIFEST, 3, 2, is_back=True)),
    ("worker", said.Leave(12)),
    ("worker", said.Recall(7)),
    ("worker", said.Read(1, 40, 20)),
    ("worker", said.Write(2, 40, b"abcdefgh")),
    ("worker", said.Load(7, DIGEST)),
    ("peer", said.PeerReady("job", 1, DIGEST)),
    ("peer", said.Lead("job", MANIFEST)),
    ("peer", said.Order("drop", 3, 2, 9, 4, "worker 3 has left")),
    ("server", said.Obeyed(True, None, 9)),
    ("peer", said.Listen("job")),
    ("server", said.Lost(3, 2, "it closed the connection")),
    ("server", said.Done()),
    ("server", said.NeedManifest()),
    ("server", said.Joined(
        1, 2, 4, 9, True, OPTIONS, SITES, (("10.0.0.9:1", "10.0.1.9:1"), ("h:2",)), DIGEST
    )),
    ("server", said.Recalled(7, ((0, 40), (80, 20)))),
    ("server", said.Numbers(b"abcdefgh")),
    ("server", said.Saved("job-4.snapshot", 4, DIGEST, 123)),
    ("server", said.Status(SITES, ("10.0.0.9:7100",), (SERVICE,))),
    ("server", said.Failure("worker 3 is lost", "start it again", is_past=True)),
]  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
