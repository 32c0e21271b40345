"""Server of the hub: callers that connect, services, and event loops."""

from plink.hub.serving.options import ServerOptions
from plink.hub.serving.server import Server

__all__ = ["Server", "ServerOptions"]
