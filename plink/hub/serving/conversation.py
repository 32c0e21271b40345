"""Answer the messages of workers and administrators."""

from __future__ import annotations

from plink.base.errors import PlinkError
from plink.hub.serving.callers import Control
from plink.hub.serving.errors import build_failure
from plink.hub.serving.meeting import meet
from plink.hub.serving.member import Member
from plink.hub.serving.recalled import Copies
from plink.hub.serving.registry import Registry
from plink.hub.serving.tenant import Tenant
from plink.hub.session.messages import (
    Ask,
    Checkpoint,
    Create,
    Delete,
    Done,
    Join,
    Leave,
    Load,
    Message,
    NeedManifest,
    Read,
    Recall,
    Restore,
    Write,
)
from plink.hub.session.roles import ADMIN, PEER
from plink.transport.frames import ProtocolError


async def converse(control: Control, registry: Registry) -> None:
    """Answer a caller's messages until the connection is closed or lost.

    Raises:
        ProtocolError: it says what it must not.
    """
    if control.session.role == ADMIN:
        await _administer(control, registry)
    elif control.session.role == PEER:
        await meet(control, registry)
    else:
        await _serve(control, registry, registry.tenant(control.session.namespace))


async def _administer(control: Control, registry: Registry) -> None:
    while (message := await control.receive()) is not None:
        try:
            answer = await _execute(message, registry)
        except PlinkError as error:
            answer = build_failure(error)
        await control.send(answer)


async def _execute(message: Message, registry: Registry) -> Message:
    if isinstance(message, Create):
        registry.create(message)
        return Done()
    if isinstance(message, Delete):
        registry.delete(message)
        return Done()
    if isinstance(message, Ask):
        return registry.status(message.namespace)
    if isinstance(message, Checkpoint):
        return await registry.checkpoint(message)
    if isinstance(message, Restore):
        await registry.restore(message)
        return Done()
    raise ProtocolError("the server does not do that")


async def _serve(control: Control, registry: Registry, tenant: Tenant) -> None:
    worker = _Worker(control, registry, tenant)
    why = "it closed the connection"
    try:
        while (message := await control.receive()) is not None:
            try:
                answer = await worker.answer(message)
            except PlinkError as error:
                answer = build_failure(error)
            await control.send(answer)
    except ProtocolError as error:
        why = str(error)
        raise
    finally:
        worker.lost(why)


class _Worker:
    """Conversation with a worker, which may have joined the service or not."""

    def __init__(self, control: Control, registry: Registry, tenant: Tenant) -> None:
        self._control = control
        self._registry = registry
        self._tenant = tenant
        self._member: Member | None = None
        self._copies: Copies | None = None

    async def answer(self, message: Message) -> Message:
        """Return the answer to one of the worker's messages.

        Raises:
            PlinkError: it cannot have what it asks for.
        """
        if isinstance(message, Ask):
            return self._registry.status(self._tenant.options.namespace)
        if isinstance(message, Join) and self._member is None:
            return await self._join(message)
        if self._member is None:
            raise ProtocolError("a message out of its order")
        if isinstance(message, Leave):
            member, self._member = self._member, None
            await self._tenant.left(member, message.iteration)
        elif isinstance(message, Recall):
            self._copies = self._tenant.keeping.recall(message.iteration)
            return self._copies.recalled
        elif isinstance(message, Read | Write | Load):
            return self._read_or_write(message)
        else:
            raise ProtocolError("a message out of its order")
        return Done()

    def _read_or_write(self, message: Read | Write | Load) -> Message:
        if self._copies is None:
            raise ProtocolError("a worker reads or writes what it has not recalled")
        if isinstance(message, Read):
            return self._copies.read(message)
        if isinstance(message, Write):
            self._copies.write(message)
        else:
            self._tenant.keeping.load(self._copies, message)
            self._copies = None
        return Done()

    def lost(self, why: str) -> None:
        """Report the worker to the service as lost, if it had joined and not left."""
        if self._member is not None:
            self._tenant.lost(self._member.number, self._member.incarnation, why)

    async def _join(self, join: Join) -> Message:
        if join.manifest is None and not self._tenant.knows_manifest(join.digest):
            return NeedManifest()
        control = self._control
        key = control.session.data_key
        self._member, joined = await self._tenant.join(join, control.host, key)
        return joined
