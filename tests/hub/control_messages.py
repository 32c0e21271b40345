"""One of each message of control connections, who sends it, and JSON of any kind."""

from __future__ import annotations

from hypothesis import strategies as st

from plink.hub.manifest import Key, Manifest
from plink.hub.membership.actions import Admit, Allow, Begin, Commit, Drop, End, Fail, PushAgain
from plink.hub.membership.events import Pushed
from plink.hub.placement import Port, Sites
from plink.hub.service import ServiceOptions
from plink.hub.session import messages as said
from plink.hub.session import recall
from plink.hub.session.following import Cut, IsCut, IsOpen, Step, Take
from plink.hub.session.messages import Message

DIGEST = "0123456789abcdef" * 4
MANIFEST = Manifest((Key("w", 6, 0, (2, 3)), Key("b", 2, 1, (), "bfloat16")), 2)
OPTIONS = ServiceOptions("job", 4, "adamw", commit="step", on_loss="wait", grace_s=3.5)
SITES = Sites(((Port(2), Port(1, 2.5)), (Port(),)))

SPOKEN: list[tuple[str, Message]] = [
    ("admin", said.Create(OPTIONS, b"s" * 16, SITES, (("10.0.0.9:7100",), ("[::1]:7100",)), 1)),
    ("admin", said.Delete("job")),
    ("admin", said.Ask()),
    ("worker", said.Ask("job")),
    ("admin", said.Checkpoint("job")),
    ("admin", said.Restore("job", "job-12.snapshot")),
    ("worker", said.Join(DIGEST)),
    ("worker", said.Join(DIGEST, MANIFEST, 3, 2, is_back=True)),
    ("worker", said.Initialised()),
    ("worker", said.Leave(12)),
    ("worker", said.StepError(3, "no memory is left")),
    ("worker", said.Pushed(7)),
    ("worker", recall.Recall(7)),
    ("worker", recall.Read(1, 40, 20)),
    ("worker", recall.Write(2, 40, b"abcdefgh")),
    ("worker", recall.Load(7, DIGEST)),
    ("peer", said.PeerReady("job", 1, DIGEST)),
    ("peer", said.Norm("job", 5, 0.1)),
    ("server", said.Norm("job", 5, None)),
    ("server", said.Done()),
    ("server", said.NeedManifest()),
    ("server", said.Joined(
        1, 2, 4, 9, True, False, OPTIONS, SITES, (("10.0.0.9:1", "10.0.1.9:1"), ("h:2",)), DIGEST
    )),
    ("server", recall.Recalled(7, ((0, 40), (80, 20)))),
    ("server", recall.Numbers(b"abcdefgh")),
    ("server", said.Members(4, (0, 1, 3))),
    ("server", said.PushAgain(4)),
    ("server", said.Saved("job-4.snapshot", 4, DIGEST, 123)),
    ("server", said.Status(SITES, ("10.0.0.9:7100",), ({"namespace": "job", "iteration": 3},))),
    ("server", said.Failure("worker 3 is lost", "start it again", is_final=True)),
]  # fmt: skip

LED: list[Step] = [
    Take(3, 1),
    Cut(3, 1),
    Admit(3, 9),
    Allow(3, 12),
    Begin(9, 4, (0, 3), (1,)),
    Commit(9, 4),
    PushAgain(3, 9),
    Drop(3, 1, "worker 3 is lost"),
    Fail("worker 3 is lost"),
    End("the service is deleted"),
]
REPORTED: list[Step] = [Pushed(3, 9, 4), IsCut(3, 1), IsOpen(3, 2)]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
