"""Leave an order that follows from the graph: behind the last buffer that some rank began.

What a rank has begun others wait for, so all have to begin it; what no rank has begun can be agreed
on in another way. So all stop, the root asks how far each is, and all go on up to the farthest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from plink.training.control.graph_messages import Call, Go, Message, Progress, Report, Stop
from plink.training.control.pending import missing_text
from plink.training.control.ranks import Ranks
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.wire import WireError

# A rank that asks a little before its time is not told to ask again.
_LEEWAY_MS = 1
# Of what ranks wait for at once.
_MOST_TOLD = 8


class Halts:
    """Halt on one rank: it passes the root's messages on, and gathers the answers below it.

    Args:
        place: in the tree.
        settings: of all.
        send: to these ranks.
    """

    def __init__(
        self, place: Place, settings: Settings, send: Callable[[Iterable[int], Message], None]
    ) -> None:
        self._place = place
        self._settings = settings
        self._send = send
        self._told: set[str] = set()
        self._reports: dict[int, Report] = {}
        self._has_reported = True
        self._round = 0
        self._buffers = 1
        self.graph = -1
        self.is_asked = False

    def begin(self, graph: int, buffers: int) -> None:
        """Begin a graph, which replaces any other, with so many buffers an iteration."""
        self.graph = graph
        self._buffers = buffers
        self._round = 0
        self._has_reported = True
        self.is_asked = False

    def ask(self, call: Call | None = None) -> None:
        """The root is to ask all ranks how far they are.

        Args:
            call: of a rank below; None for this rank's own.
        """
        call = call or Call(self.graph, self._round)
        if self._place.parent is not None:
            self._send([self._place.parent], call)
        elif call.round >= self._round:
            self._stop(Stop(self.graph, self._round + 1))

    def hear(self, rank: int, message: Call | Stop | Report | Go) -> Go | None:
        """A message has come. Returns what the root has decided, if it is that.

        Raises:
            WireError: it cannot be.
        """
        is_down = rank == self._place.parent
        if isinstance(message, Stop | Go):
            if not is_down or message.graph != self.graph:
                raise WireError("it tells what only the root can")
            if isinstance(message, Stop):
                self._stop(message)
                return None
            return self._end(message)
        if is_down or message.graph > self.graph:
            raise WireError("it asks what only those below can")
        if message.graph == self.graph:
            if isinstance(message, Call):
                self.ask(message)
            elif message.round == self._round:
                self._reports[rank] = message
        return None

    def settle(self, own: Report) -> Go | None:
        """Pass on what all below say, if they have. Returns what the root decides then.

        Args:
            own: what this rank says; its round is that which is asked about.
        """
        if self._has_reported or len(self._reports) < len(self._place.children):
            return None
        self._has_reported = True
        for report in self._reports.values():
            own.waited_ms = max(own.waited_ms, report.waited_ms)
            own.reason = own.reason or report.reason
            for progress, ranks in report.progress.items():
                own.progress[progress] = own.progress.get(progress, Ranks()) | ranks
        own.round = self._round
        if self._place.parent is not None:
            self._send([self._place.parent], own)
            return None
        return self._end(self._decide(own))

    def _stop(self, stop: Stop) -> None:
        if stop.round > self._round:
            self._round = stop.round
            self._reports = {}
            self._has_reported = False
            self.is_asked = True
            self._send(self._place.children, stop)

    def _end(self, go: Go) -> Go:
        self._send(self._place.children, go)
        self.is_asked = False
        return go

    def _decide(self, whole: Report) -> Go:
        """Return the root's decision for all ranks."""
        begun = max(progress.begun for progress in whole.progress)
        least = min(progress.begun for progress in whole.progress)
        everyone = Ranks.below(self._place.ranks)
        lacking: dict[str, Ranks] = {}
        for progress, ranks in whole.progress.items():
            for name in progress.missing if progress.begun == least else ():
                lacking[name] = lacking.get(name, Ranks()) | ranks
        # What is missing on all ranks keeps nobody waiting for others.
        awaited = {name: ranks for name, ranks in lacking.items() if everyone - ranks}
        waited_s = whole.waited_ms / 1000.0
        warnings: tuple[str, ...] = ()
        failed = ""
        leaves = bool(whole.reason)
        if whole.waited_ms + _LEEWAY_MS >= 1000.0 * self._settings.stall_warning_s:
            told = list(awaited.items())[:_MOST_TOLD]
            warnings = tuple(
                missing_text(name, waited_s, everyone - ranks, ranks) for name, ranks in told
            )
            error_s = self._settings.stall_error_s
            is_over = error_s is not None and waited_s >= error_s
            if is_over and awaited and least < begun:
                failed = f"{warnings[0]}; what others have begun with it cannot be taken back"
            # What all lack the graph waits for in vain; what nobody has begun can fail alone.
            leaves |= whole.is_pending and bool(lacking) and (is_over or not awaited)
        if leaves and self._settings.is_deterministic and begun % self._buffers and not failed:
            failed = (
                f"{whole.reason or 'the graph does not hold'}; what shares a buffer would depend "
                "on timing now, which deterministic=True excludes"
            )
        reason = "" if failed or whole.reason in self._told else whole.reason
        self._told.add(whole.reason)
        return Go(whole.graph, whole.round, begun, leaves, reason, warnings, failed)


def progress_of(begun: int, missing: tuple[str, ...], rank: int) -> dict[Progress, Ranks]:
    """Return the progress of one rank."""
    return {Progress(begun, missing): Ranks.of([rank])}
