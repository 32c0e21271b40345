"""What a server answers to workers and administrators."""

from __future__ import annotations

from plink.base.errors import PlinkError
from plink.hub.serving.callers import Control
from plink.hub.serving.registry import Registry
from plink.hub.serving.tenant import Member, Tenant
from plink.hub.session.messages import (
    Ask,
    Create,
    Delete,
    Done,
    Failure,
    Initialised,
    Join,
    Leave,
    Message,
    NeedManifest,
    StepError,
)
from plink.hub.session.roles import ADMIN
from plink.transport.frames import ProtocolError


async def converse(control: Control, registry: Registry) -> None:
    """Until the caller is gone.

    Raises:
        ProtocolError: it says what it must not.
    """
    if control.session.role == ADMIN:
        await _administer(control, registry)
    else:
        await _serve(control, registry, registry.tenant(control.session.namespace))


async def _administer(control: Control, registry: Registry) -> None:
    while (message := await control.receive()) is not None:
        try:
            answer = _administered(message, registry)
        except PlinkError as error:
            answer = Failure(str(error), error.hint)
        await control.send(answer)


def _administered(message: Message, registry: Registry) -> Message:
    if isinstance(message, Create):
        registry.create(message)
        return Done()
    if isinstance(message, Delete):
        registry.delete(message)
        return Done()
    if isinstance(message, Ask):
        return registry.status(message.namespace)
    raise ProtocolError("the server does not do that")


async def _serve(control: Control, registry: Registry, tenant: Tenant) -> None:
    member: Member | None = None
    try:
        while (message := await control.receive()) is not None:
            answer: Message = Done()
            try:
                if isinstance(message, Join) and member is None:
                    if message.manifest is None and not tenant.knows_manifest(message.digest):
                        answer = NeedManifest()
                    else:
                        member, answer = tenant.join(
                            message, control.host, control.session.data_key
                        )
                elif isinstance(message, Ask):
                    answer = registry.status(tenant.options.namespace)
                elif isinstance(message, Leave) and member is not None:
                    tenant.left(member)
                    member = None
                elif isinstance(message, StepError) and member is not None:
                    tenant.fail(f"worker {member.number} ({member.host}): {message.sentence}")
                elif not isinstance(message, Initialised):
                    raise ProtocolError("a message out of its order")
            except PlinkError as error:
                answer = Failure(str(error), error.hint, tenant.failure is not None)
            await control.send(answer)
    except ProtocolError as error:
        if member is not None:
            tenant.lost(member.number, member.incarnation, str(error))
        raise
    finally:
        if member is not None:
            tenant.lost(member.number, member.incarnation, "it closed the connection")
