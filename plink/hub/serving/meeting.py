"""Answer the messages of a service's other servers."""

from __future__ import annotations

from plink.base.errors import PlinkError
from plink.hub.serving.callers import Control
from plink.hub.serving.errors import build_failure
from plink.hub.serving.registry import Registry
from plink.hub.serving.tenant import Tenant
from plink.hub.session.messages import Done, Lead, Listen, Message, Order, PeerReady
from plink.transport.frames import ProtocolError


async def meet(control: Control, registry: Registry) -> None:
    """Answer another server's messages; a service that it leads or shares fails when it is gone.

    Raises:
        ProtocolError: it says what it must not.
    """
    tenant: Tenant | None = None
    who = ""
    while (message := await control.receive()) is not None:
        try:
            if isinstance(message, PeerReady):
                tenant, who = registry.tenant(message.namespace), f"of rack {message.server}"
                if tenant.peers is None:
                    raise ProtocolError("a service without racks")
                tenant.peers.greet(message, control.session.data_key)
                answer: Message = Done()
            elif isinstance(message, Lead):
                tenant, who = registry.tenant(message.namespace), "that leads it"
                tenant.lead(message.manifest)
                answer = Done()
            elif isinstance(message, Order) and tenant is not None:
                answer = tenant.obey(message)
            elif isinstance(message, Listen):
                answer = await registry.tenant(message.namespace).report() or Done()
            else:
                raise ProtocolError("a message out of its order")
        except ProtocolError:
            raise
        except PlinkError as error:
            if not isinstance(message, Order):
                tenant = None
            answer = build_failure(error)
        await control.send(answer)
    if tenant is not None:
        tenant.fail(f"the server {who} is lost: it closed the connection")
