"""Nodes as an API server keeps them: the stand-in takes tokens, patches and faults as it does.

What it does is what Kubernetes documents: merge patches (RFC 7386), a version of each object that
is checked where a patch names one, pages (`limit`, `continue`), answers of kind Status, and roles
that allow verbs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from support.kubernetes import Answer, Object, Request, serving

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

    def answer(self, request: Request) -> Answer:
        """The answer to a request."""
        self.asked.append((request.method, request.path))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            return status(*fault)
        if (
            self.token is not None
            and request.headers.get("Authorization") != f"Bearer {self.token}"
        ):
            return status(401, message="Unauthorized")
        split = urlsplit(request.path)
        if not split.path.startswith("/api/v1/nodes"):
            return status(404, message="the server could not find the requested resource")
        name = unquote(split.path.removeprefix("/api/v1/nodes").removeprefix("/"))
        verb = {"GET": "get" if name else "list", "PATCH": "patch"}[request.method]
        if verb not in self.verbs:
            account = "system:serviceaccount:plink:plink-probe"
            said = f'nodes is forbidden: User "{account}" cannot {verb} resource "nodes"'
            return status(403, message=said)
        if not name:
            return self._page(parse_qs(split.query))
        return self._patched(name, request) if verb == "patch" else self._node(name)

    def _node(self, name: str) -> Answer:
        if name not in self.nodes:
            return status(404, message=f'nodes "{name}" not found')
        return Answer(200, self.nodes[name])

    def _patched(self, name: str, request: Request) -> Answer:
        if request.headers.get("Content-Type") != MERGE_PATCH:
            return status(415, message="unsupported media type")
        patch = json.loads(request.content)
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
def node_server(certificate: Path | None = None) -> Iterator[NodeServer]:
    """A server that runs; by TLS where it has a certificate, with its key in the same file."""
    server = NodeServer()
    with serving(server.answer, certificate) as server.url:
        yield server
