"""Client for the part of the Kubernetes API that concerns nodes: list, read, patch.

The API server's answers are checked, and a request is made again where that may help: where the
server is overloaded, starts anew, or cannot be reached for a moment.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from plink.base.errors import PlinkError, WrongUseError

# What the API server says it will answer when asked again.
_BUSY = {429, 500, 502, 503, 504}
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_PAGE = 500
_MOST_BYTES = 1 << 28
_MERGE_PATCH = "application/merge-patch+json"

_PERMISSION = "the account needs get, list and patch of nodes, as in plink kube manifests"


# What plink has written stands in this annotation of a node.
ANNOTATION = "plink/labels"

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Node:
    """Kubernetes node as the API server describes it: name, addresses, labels.

    Args:
        name: its own.
        labels, annotations: its own.
        addresses: internal ones.
        version: `resourceVersion`, which changes whenever the node does.
    """

    name: str
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    addresses: Sequence[str] = ()
    version: str = ""

    @property
    def written(self) -> dict[str, str]:
        """Labels of the node that plink wrote, by its annotation, and nobody has changed since."""
        try:
            noted = json.loads(self.annotations.get(ANNOTATION, "{}"))
        except (ValueError, RecursionError):
            return {}
        if not isinstance(noted, dict):
            return {}
        return {key: value for key, value in noted.items() if self.labels.get(key) == value}


class ConflictError(Exception):
    """Error that a Kubernetes node was changed by others between reading and patching it."""


class NoNodeError(Exception):
    """Error that a Kubernetes node no longer exists."""


@dataclass(frozen=True)
class Access:
    """Address and credentials of the Kubernetes API server.

    Args:
        place: what messages call it.
        connect: makes a connection, whose requests may take so many seconds each.
        token: returns the bearer token, which may change between requests; None without one.
        root: what stands before every path.
    """

    place: str
    connect: Callable[[float], http.client.HTTPConnection]
    token: Callable[[], str | None] = lambda: None
    root: str = ""


class ApiServer:
    """Client for the nodes of a Kubernetes cluster, which retries for up to `limit_s`.

    Args:
        access: to the API server.
        limit_s: for how long one request is made again and again.
        pause: waits for so many seconds.
    """

    def __init__(
        self, access: Access, limit_s: float, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._access = access
        self._limit_s = limit_s
        self._pause = pause

    def nodes(self) -> list[Node]:
        """Return all nodes of the Kubernetes cluster.

        Raises:
            PlinkError: the API server does not answer, or refuses.
        """
        found: list[Node] = []
        more: str | None = ""
        while more is not None:
            query = {"limit": str(_PAGE)} | ({"continue": more} if more else {})
            try:
                page = self._answer("GET", f"/api/v1/nodes?{urlencode(query)}")
            except NoNodeError:
                raise self._unexpected_answer("a list of nodes") from None
            items = page.get("items")
            if not isinstance(items, list):
                raise self._unexpected_answer("a list of nodes")
            found += [self._node(item) for item in items]
            more = _mapping(page.get("metadata")).get("continue") or None
            if more is not None and not items:
                raise self._unexpected_answer("a list of nodes")
        return found

    def node(self, name: str) -> Node:
        """Return a node of the Kubernetes cluster by name; raise NoNodeError if it is gone.

        Raises:
            NoNodeError: it has gone.
            PlinkError: the API server does not answer, or refuses.
        """
        return self._node(self._answer("GET", f"/api/v1/nodes/{quote(name, safe='')}"))

    def patch(self, name: str, patch: Mapping[str, Any]) -> None:
        """Apply a merge patch to a Kubernetes node; raise ConflictError if others changed it.

        Raises:
            ConflictError: the patch names a version, and the node has another one.
            NoNodeError: it has gone.
            PlinkError: the API server does not answer, or refuses.
        """
        self._answer("PATCH", f"/api/v1/nodes/{quote(name, safe='')}", patch)

    def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request to the API server, retrying for `limit_s`; return the JSON it answers."""
        end_s, pause_s = time.monotonic() + self._limit_s, _FIRST_PAUSE_S
        while True:
            wanted_s: float | None = None
            try:
                status, reason, content, wanted_s = self._request(method, path, body, end_s)
            except ssl.SSLCertVerificationError as error:
                reason = error.verify_message or str(error)
                raise PlinkError(
                    f"{self._access.place}: its certificate is not trusted ({reason})",
                    "--ca-file FILE names the authority that signed it",
                ) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                status, reason = 0, getattr(error, "strerror", None) or str(error)
                content = {}
            if 200 <= status < 300:
                return content
            if status not in {0, *_BUSY}:
                raise self._refusal(status, reason)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
            wait_s = pause_s if wanted_s is None else wanted_s
            if time.monotonic() + wait_s > end_s:
                if status:
                    raise PlinkError(
                        f"{self._access.place} answers with status {status} ({reason})",
                        "the server may be overloaded or starting: try again later",
                    )
                raise PlinkError(
                    f"{self._access.place} does not answer ({reason})",
                    "check its address, and that it can be reached from here",
                )
            self._pause(wait_s)

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, end_s: float
    ) -> tuple[int, str, dict[str, Any], float | None]:
        """Send one request; return status, reason, JSON, and seconds to wait before a retry."""
        headers = {"Accept": "application/json", "User-Agent": "plink"}
        token = self._access.token()
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = _MERGE_PATCH
        left_s = max(1.0, end_s - time.monotonic())
        with closing(self._access.connect(left_s)) as connection:
            text = None if body is None else json.dumps(body)
            connection.request(method, self._access.root + path, text, headers)
            response = connection.getresponse()
            content = response.read(_MOST_BYTES)
            again = response.getheader("Retry-After") or ""
        try:
            data = _mapping(json.loads(content))
        except (ValueError, RecursionError):
            if response.status < 300:
                raise self._unexpected_answer("JSON") from None
            data = {}
        reason = data.get("message")
        said = reason if isinstance(reason, str) else response.reason
        return response.status, said, data, float(again) if again.isdecimal() else None

    def _refusal(self, status: int, reason: str) -> Exception:
        if status == http.HTTPStatus.CONFLICT:
            return ConflictError(reason)
        if status == http.HTTPStatus.NOT_FOUND:
            return NoNodeError(reason)
        if status == http.HTTPStatus.UNAUTHORIZED:
            return PlinkError(f"{self._access.place} does not accept the token ({reason})")
        if status == http.HTTPStatus.FORBIDDEN:
            return PlinkError(f"{self._access.place} refuses the request: {reason}", _PERMISSION)
        return PlinkError(f"{self._access.place} answers with status {status} ({reason})")

    def _node(self, item: Any) -> Node:
        metadata = _mapping(_mapping(item).get("metadata"))
        name, version = metadata.get("name"), metadata.get("resourceVersion", "")
        if not isinstance(name, str) or not isinstance(version, str):
            raise self._unexpected_answer("a node")
        addresses = _mapping(_mapping(item).get("status")).get("addresses")
        return Node(
            name,
            _texts(metadata.get("labels")),
            _texts(metadata.get("annotations")),
            [
                str(each.get("address"))
                for each in map(_mapping, addresses if isinstance(addresses, list) else ())
                if each.get("type") == "InternalIP"
            ],
            version,
        )

    def _unexpected_answer(self, expected: str) -> PlinkError:
        return WrongUseError(
            f"{self._access.place} does not answer with {expected}",
            "check that this is the address of a Kubernetes API server",
        )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> dict[str, str]:
    return {key: text for key, text in _mapping(value).items() if isinstance(text, str)}
