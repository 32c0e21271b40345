"""Nodes as an API server keeps them: the stand-in takes tokens, patches and faults as it does.

What it does is what Kubernetes documents: merge patches (RFC 7386), a version of each object that
is checked where a patch names one, pages (`limit`, `continue`), answers of kind Status, and roles
that allow verbs.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Object = dict[str, Any]

TOKEN = "a-token-of-the-service-account"
MERGE_PATCH = "application/merge-patch+json"


@dataclass
class NodeServer:
    """The nodes, and how the server behaves.

    Args:
        nodes: by name.
        url: where it is.
        token: that it wants; None for none.
        verbs: that the account's role allows.
        faults: of the next requests: status and Retry-After, or None to answer.
        asked: method and path of all requests, and the patches.
        before_patch: is called before a patch is looked at, as if somebody were quicker.
    """

    nodes: dict[str, Object] = field(default_factory=dict)
    url: str = ""
    token: str | None = TOKEN
    verbs: frozenset[str] = frozenset({"get", "list", "patch"})
    faults: list[tuple[int, str | None] | None] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    patches: list[tuple[str, Object]] = field(default_factory=list)
    before_patch: list[Any] = field(default_factory=list)

    def add(self, name: str, address: str = "192.0.2.9", **labels: str) -> None:
        """A node with these labels."""
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "resourceVersion": "1",
                "labels": {"kubernetes.io/hostname": name, **labels},
            },
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        }

    def labels(self, prefix: str) -> dict[str, dict[str, str]]:
        """The labels of every node whose keys begin so, without that beginning."""
        return {
            name: {
                key.removeprefix(prefix): value
                for key, value in node["metadata"]["labels"].items()
                if key.startswith(prefix)
            }
            for name, node in self.nodes.items()
        }

    def merge(self, name: str, patch: Object) -> None:
        """Patch a node, whoever does it."""
        node = self.nodes[name]
        version = int(node["metadata"]["resourceVersion"])
        merged = merge(node, patch)
        merged["metadata"]["resourceVersion"] = str(version + 1)
        self.nodes[name] = merged

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Status and content of the answer to a request."""
        self.asked.append((method, path))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            return status(*fault)
        if self.token is not None and headers.get("Authorization") != f"Bearer {self.token}":
            return status(401, message="Unauthorized")
        split = urlsplit(path)
        if not split.path.startswith("/api/v1/nodes"):
            return status(404, message="the server could not find the requested resource")
        name = unquote(split.path.removeprefix("/api/v1/nodes").removeprefix("/"))
        verb = {"GET": "get" if name else "list", "PATCH": "patch"}[method]
        if verb not in self.verbs:
            account = "system:serviceaccount:plink:plink-probe"
            said = f'nodes is forbidden: User "{account}" cannot {verb} resource "nodes"'
            return status(403, message=said)
        if not name:
            return self._page(parse_qs(split.query))
        return self._patched(name, headers, json.loads(body)) if body else self._node(name)

    def _node(self, name: str) -> Answer:
        if name not in self.nodes:
            return status(404, message=f'nodes "{name}" not found')
        return Answer(200, self.nodes[name])

    def _patched(self, name: str, headers: Mapping[str, str], patch: Object) -> Answer:
        if headers.get("Content-Type") != MERGE_PATCH:
            return status(415, message="unsupported media type")
        if self.before_patch:
            self.before_patch.pop(0)(name)
        if name in self.nodes:
            version = patch["metadata"].pop("resourceVersion", None)
            if version not in (None, self.nodes[name]["metadata"]["resourceVersion"]):
                return status(409, message="the object has been modified")
            self.patches.append((name, patch))
            self.merge(name, patch)
        return self._node(name)

    def _page(self, query: Mapping[str, list[str]]) -> Answer:
        names = sorted(self.nodes)
        begin = int(query.get("continue", ["0"])[0])
        end = begin + int(query.get("limit", [str(len(names))])[0])
        metadata = {"resourceVersion": "9"} | ({"continue": str(end)} if end < len(names) else {})
        items = [self.nodes[name] for name in names[begin:end]]
        return Answer(200, {"kind": "NodeList", "metadata": metadata, "items": items})


@dataclass(frozen=True)
class Answer:
    """A status of HTTP, the content, and further headers."""

    code: int
    content: Object
    headers: Mapping[str, str] = field(default_factory=dict)


def status(code: int, retry_after: str | None = None, message: str = "try again later") -> Answer:
    """An answer of kind Status."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer(code, {"kind": "Status", "code": code, "message": message}, headers)


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


@contextmanager
def node_server(
    address: str = "127.0.0.1", certificate: Path | None = None
) -> Iterator[NodeServer]:
    """A server that runs; by TLS where it has a certificate, with its key in the same file."""
    server = NodeServer()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size)
            headers = {name: self.headers[name] for name in self.headers}
            found = server.answer(self.command, self.path, headers, body)
            content = json.dumps(found.content).encode()
            self.send_response(found.code)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PATCH = _do  # noqa: N815  as the class has them

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer((address, 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    scheme = "http" if certificate is None else "https"
    server.url = f"{scheme}://{address}:{listening.server_port}"
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
