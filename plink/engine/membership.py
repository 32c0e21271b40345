"""Members that come and go: one engine after the other over the present members."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.engine._native import Work
from plink.engine.addresses import default_address
from plink.engine.agreement import Meeting, form_first_generation
from plink.engine.asking import Ear, ask
from plink.engine.connected import Closing
from plink.engine.engine import Engine
from plink.engine.failure import EngineError
from plink.engine.lifeline import Life, LifeLine, Watch
from plink.engine.options import Options
from plink.engine.roster import (
    PREFIX,
    Presence,
    Roster,
    begun_key,
    latest_key,
    pack_presence,
    parse_forest,
    presence_key,
)
from plink.engine.store import SharedStore, peek
from plink.engine.watched import WatchedStore
from plink.plans.forest import OTHER_NUMBER, Forest
from plink.plans.regroup import flat, regroup_forest
from plink.plans.wire import encode_forest

# Generations that fail one after the other although nobody is lost.
_MOST_VAIN = 5


class Members(Closing):
    """Process in a job whose members may be lost, leave and join without any restart.

        with Members(rank, ranks, store) as members:        # or Members.join(store)
            while members.steps < 1000:
                if members.newcomers:                       # rank 0 is none of them
                    ...                                     # they get the state of rank 0
                try:
                    members.allreduce(gradients).wait()
                    members.commit()                        # the step is done, on all or on none
                except EngineError as error:                # it names who is lost
                    members.reconfigure()                   # the others go on without
                    ...                                     # the step is done if `steps` says so

    Args:
        rank: of this process among the first, 0 to `ranks` - 1; its number for good.
        ranks: how many begin.
        store: where they meet, as long as the job lasts. It must reach every process that joins.
        plan: along which the first aggregate; that of rank 0 counts. None for a flat one.
        options: of every engine. Those that must be the same on all ranks must be so here.

    Raises:
        WrongUseError: the plan does not fit these ranks, or an option cannot be.
        EngineError: not all came, or could be connected; it names whose fault that is.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        store: SharedStore,
        plan: Forest | None = None,
        options: Options | None = None,
    ) -> None:
        if not 0 <= rank < ranks:
            raise WrongUseError(f"there is no rank {rank} among {ranks}")
        if plan is not None and plan.ranks != ranks:
            raise WrongUseError(
                f"the plan is for {plan.ranks} ranks, there are {ranks}", OTHER_NUMBER
            )
        self._prepare(store, options)
        with self._closed_on_error():
            self.number = rank
            self.generation = 0
            self._forest = plan or flat(ranks)
            self._announce(0)
            roster = form_first_generation(
                store,
                rank,
                ranks,
                lambda _: self._put_plan(self._forest),
                timeout_s=self._options.setup_timeout_s,
            )
            self._take(roster)
            self._connect()

    @classmethod
    def join(cls, store: SharedStore, options: Options | None = None) -> Members:
        """Join a running job; return once its members have taken this process in, after a step.

        Raises:
            EngineError: there are no members, or all of them have ended.
        """
        self = cls.__new__(cls)
        self._prepare(store, options)
        with self._closed_on_error():
            setup_timeout_s = self._options.setup_timeout_s
            self.number, self.generation, roster = ask(
                store, self._line.address, self._watch, setup_timeout_s
            )
            self._take(roster)
            try:
                self._connect()
            except EngineError as error:
                self._succeed(self._blamed_members(error), self._forest, self.numbers)
        return self

    def _prepare(self, store: SharedStore, options: Options | None) -> None:
        self._store = store
        self._options = options or Options()
        address = (list(self._options.addresses) or [default_address()])[0]
        self._line = LifeLine(address, self._options.silence_timeout_s)
        self._watch = Watch(self._options.silence_timeout_s)
        self._ear = Ear(store, self._watch)
        self._engine: Engine | None = None
        # Who was suspected since the last step that was done, and may have been innocent.
        self._forgiven: set[int] = set()
        self.steps = 0

    @property
    def rank(self) -> int:
        """Rank of this process in this generation."""
        return self._roster.numbers.index(self.number)

    @property
    def ranks(self) -> int:
        """Number of members in this generation."""
        return len(self._roster.members)

    @property
    def numbers(self) -> list[int]:
        """Permanent numbers of the members, by rank; the longest-standing members come first."""
        return self._roster.numbers

    @property
    def newcomers(self) -> list[int]:
        """Numbers of the members that need the job's state, as they have not done a step yet."""
        return [one.number for one in self._roster.members if one.since == self.steps]

    @property
    def engine(self) -> Engine:
        """Engine of this generation.

        Raises:
            EngineError: there is none: the last one failed, or this process has left.
        """
        if self._engine is None:
            raise EngineError("this process is not connected with the others", hint="reconfigure")
        return self._engine

    @property
    def forest(self) -> Forest:
        """Forest along which this generation began to aggregate."""
        return self._forest

    def allreduce(self, array: Any, op: str = "sum", dtype: str | None = None) -> Work:
        """Begin to reduce an array over the present members, in place, as `Engine.allreduce`."""
        return self.engine.allreduce(array, op, dtype)

    def commit(self, *, leave: bool = False) -> bool:
        """End a step once its works have been waited for; all members call this.

        If it returns, the step is done on all members. If it raises, `reconfigure` says by `steps`
        whether it is. Who asks to join is taken in here, and who leaves is let go.

        Args:
            leave: this process leaves with this step; it is closed then.

        Returns:
            Whether the members are others now. See to `newcomers` then.

        Raises:
            EngineError: a member is lost; it is named.
        """
        vote = np.zeros(1 + self.ranks, dtype=np.int64)
        vote[0] = self.rank == 0 and self._ear.hears(self._roster)
        vote[1 + self.rank] = leave
        self.engine.allreduce(vote, "max").wait()
        self.steps += 1
        self._forgiven.clear()
        if not vote.any():
            return False
        if leave:
            self.close()
            return True
        numbers = self.numbers
        leaving = {number for number, leaves in zip(numbers, vote[1:], strict=True) if leaves}
        self._succeed(leaving, self._forest, numbers)
        return True

    def reconfigure(self, ranks: Collection[int] | None = None, plan: Forest | None = None) -> None:
        """Go on with the members that are left, after an `EngineError` or at an agreed step.

        All that are left call it. None waits for one that has ended; for one that lives and does
        not come they wait as long as for one that does not join a collective.

        Args:
            ranks: of this generation, to go on with; None for all that are not lost. Give the same
                everywhere.
            plan: over this generation's ranks, from which those that are lost are taken out; None
                for the one in force. That of the first member that is left counts.

        Raises:
            EngineError: the others went on without this one, or cannot be connected.
            WrongUseError: a plan for other ranks.
        """
        numbers = self.numbers
        if plan is not None and plan.ranks != len(numbers):
            raise WrongUseError(
                f"the plan is for {plan.ranks} ranks, there are {len(numbers)}", OTHER_NUMBER
            )
        unwanted = set() if ranks is None else set(numbers) - {numbers[rank] for rank in ranks}
        self._forgiven |= unwanted
        self._succeed(unwanted | self._culprits(), plan or self._forest, numbers)

    def close(self) -> None:
        """Close the engine and all connections; others lose a step, unless this one has left."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._watch.close()
        self._line.close()

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _culprits(self) -> set[int]:
        """Return the members that the engine's failure blames."""
        if self._engine is None:
            return set()
        try:
            self._engine.check()
        except EngineError as error:
            return self._blamed_members(error)
        return set()

    def _blamed_members(self, error: EngineError) -> set[int]:
        return set() if error.rank is None else {self.numbers[error.rank]} - {self.number}

    def _succeed(self, suspects: set[int], plan: Forest, numbers: Sequence[int]) -> None:
        """Form a new generation, and further ones until one can be connected."""
        vain = 0
        while True:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
            before = self.ranks
            self._meet(suspects, plan, numbers)
            try:
                self._connect()
            except EngineError as error:
                vain = 0 if self.ranks < before else vain + 1
                if vain > _MOST_VAIN:
                    raise
                suspects = self._blamed_members(error)
                plan, numbers = self._forest, self.numbers
            else:
                return

    def _meet(self, suspects: set[int], plan: Forest, numbers: Sequence[int]) -> None:
        self.generation += 1
        self._announce(self.generation)
        self._store.set(begun_key(self.generation), b"begun")

        def put_plan(members: Sequence[int]) -> str:
            old_ranks = [numbers.index(one) if one in numbers else None for one in members]
            return self._put_plan(regroup_forest(plan, old_ranks))

        meeting = Meeting(
            self._store,
            self.generation,
            self.number,
            self._roster,
            suspects=suspects,
            banned=suspects & self._forgiven,
            watch=self._watch,
            patience_s=self._options.stall_timeout_s,
            silence_s=self._options.silence_timeout_s,
        )
        self._forgiven |= suspects
        roster = meeting.agree(put_plan)
        if self.number not in roster.numbers:
            self.close()
            raise EngineError(
                f"the others went on without this process, which was member {self.number}",
                hint="Members.join takes it in again",
            )
        self._take(roster)

    def _announce(self, generation: int) -> None:
        presence = pack_presence(Presence(self._line.address, self.steps))
        self._store.set(presence_key(generation, self.number), presence)

    def _put_plan(self, forest: Forest) -> str:
        key = f"{PREFIX}/{self.generation}/plan/{self.number}"
        self._store.set(key, encode_forest(forest).encode())
        return key

    def _take(self, roster: Roster) -> None:
        """Adopt a generation's roster: its members, steps and plan."""
        self._roster = roster
        self.steps = roster.steps
        content = self._store.get(roster.plan, self._options.setup_timeout_s)
        self._forest = parse_forest(content, len(roster.members))
        if self.generation > 0 and len(self.newcomers) == len(roster.members):
            raise EngineError("all that had the state of the job are lost")
        if self.rank == 0:
            self._store.set(latest_key(), str(self.generation).encode())

    def _connect(self) -> None:
        store = WatchedStore(self._store, f"{PREFIX}/{self.generation}", self._check_others)
        self._engine = Engine(
            self.rank, self.ranks, store, self._forest, self._options, watch=self._check_others
        )
        # Nobody needs to be called while engines tell who lives.
        self._watch.close()

    def _check_others(self) -> None:
        """Raise if this generation cannot be connected: a member has ended, or given up on it."""
        for rank, member in enumerate(self._roster.members):
            if member.number != self.number and self._watch.life(member.line) is Life.ENDED:
                raise EngineError(
                    f"rank {rank} ({member.line.host}) is lost: its process has ended", rank
                )
        if peek(self._store, begun_key(self.generation + 1)) is not None:
            raise EngineError("another member could not be connected, and begins anew")
