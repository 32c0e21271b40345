"""A stand-in for the API server of a Kubernetes cluster, which the real kubectl talks to.

It serves lists of objects (Kubernetes API reference: `GET /api/v1/namespaces/NS/pods` with
`labelSelector`) and what kubectl asks first to learn which kinds there are. It keeps no state but
the objects it was given, and asks for no password.
"""

from __future__ import annotations

import json
import re
import shutil
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.needs import declared

Object = dict[str, Any]

# kubectl's name of a kind: the API's own, and whether its objects are in namespaces.
KINDS = {"pods": ("Pod", True), "nodes": ("Node", False)}

_LISTED = re.compile(r"/api/v1(?:/namespaces/(?P<namespace>[^/]+))?/(?P<kind>[a-z]+)")
_TERM = re.compile(
    r"\s*(?:!\s*(?P<absent>[\w./-]+)"
    r"|(?P<set>[\w./-]+)\s+(?P<within>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<key>[\w./-]+)\s*(?:(?P<relation>==|=|!=)\s*(?P<value>[\w.-]*))?)\s*(?:,|$)"
)


def require_kubectl() -> None:
    """Skip unless kubectl is installed."""
    declared("kubernetes")
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl")


@dataclass
class ApiServer:
    """What the server serves, and what it was asked.

    Args:
        objects: by kubectl's name of their kind, as the API shows them.
        asked: the paths of all requests.
        config: kubectl's configuration that leads here (`KUBECONFIG`).
    """

    config: Path
    objects: Mapping[str, list[Object]] = field(default_factory=lambda: {k: [] for k in KINDS})
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str) -> Object | None:
        """What a GET of this path yields; None where there is nothing."""
        split = urlsplit(path)
        found = _LISTED.fullmatch(split.path)
        if found is None or found["kind"] not in KINDS:
            return _DISCOVERY.get(split.path)
        selector = parse_qs(split.query).get("labelSelector", [""])[0]
        items = [
            item
            for item in self.objects[found["kind"]]
            if found["namespace"] in (None, item["metadata"].get("namespace"))
            and is_selected(selector, item["metadata"].get("labels", {}))
        ]
        kind, _ = KINDS[found["kind"]]
        return {"apiVersion": "v1", "kind": f"{kind}List", "metadata": {}, "items": items}


@contextmanager
def api_server(folder: Path, namespace: str = "default") -> Iterator[ApiServer]:
    """A server that runs, and a configuration of kubectl's in `folder` with this namespace."""
    server = ApiServer(folder / "kubeconfig")

    def answer(request: Request) -> Answer:
        server.asked.append(request.path)
        try:
            found = server.answer(request.path)
        except SelectorError as error:
            return _refusal(400, str(error))
        return _refusal(404, "not found") if found is None else Answer(200, found)

    with serving(answer) as url:
        write_config(server.config, {"server": url}, {}, namespace)
        yield server


@dataclass(frozen=True)
class Request:
    """What a client asks: the method and path of HTTP, its headers and content."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Answer:
    """The status of HTTP, an object as content, and further headers."""

    code: int
    content: Object
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serving(answer: Callable[[Request], Answer], certificate: Path | None = None) -> Iterator[str]:
    """A server on this machine, whose address it yields.

    Args:
        answer: to a request.
        certificate: with which to speak TLS, its key in the same file.
    """

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = answer(Request(self.command, self.path, dict(self.headers), body))
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

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        scheme = "http" if certificate is None else "https"
        yield f"{scheme}://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


class SelectorError(ValueError):
    """A selector that is none."""


def _refusal(code: int, message: str) -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return Answer(code, status | {"message": message, "code": code})


def is_selected(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a selector (Kubernetes documentation, Labels and Selectors).

    Raises:
        SelectorError: it is none.
    """
    place = 0
    while place < len(selector):
        term = _TERM.match(selector, place)
        if term is None:
            raise SelectorError(f"unable to parse requirement: {selector}")
        place = term.end()
        if not _holds(term, labels):
            return False
    return True


def _holds(term: re.Match[str], labels: Mapping[str, str]) -> bool:
    if term["absent"] is not None:
        return term["absent"] not in labels
    if term["set"] is not None:
        values = {value.strip() for value in term["values"].split(",")}
        return (labels.get(term["set"]) in values) == (term["within"] == "in")
    if term["relation"] is None:
        return term["key"] in labels
    return (labels.get(term["key"]) == term["value"]) == (term["relation"] != "!=")


def pod(
    name: str,
    address: str,
    namespace: str = "default",
    *,
    labels: Mapping[str, str] | None = None,
    containers: tuple[str, ...] = ("main",),
    gpus: int = 0,
    is_ready: bool = True,
) -> Object:
    """A pod that runs, as `kubectl get pod -o json` shows it, without what nobody reads here."""
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {
            "containers": [
                {"name": container, "image": "busybox", "resources": limits if not place else {}}
                for place, container in enumerate(containers)
            ],
            "nodeName": f"node-of-{name}",
            "restartPolicy": "Never",
        },
        "status": {
            "phase": "Running",
            "hostIP": "192.0.2.1",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [
                {"type": "Initialized", "status": "True"},
                {"type": "Ready", "status": str(is_ready)},
            ],
        },
    }


_DISCOVERY: Mapping[str, Object] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": name,
                "singularName": kind.lower(),
                "namespaced": is_namespaced,
                "kind": kind,
                "verbs": ["get", "list"],
            }
            for name, (kind, is_namespaced) in KINDS.items()
        ],
    },
}


def write_config(
    file: Path, cluster: Mapping[str, str], user: Mapping[str, str], namespace: str = "default"
) -> None:
    """A configuration of kubectl's that leads to a cluster as a user."""
    context = {"cluster": "stand-in", "user": "nobody", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stand-in", "cluster": dict(cluster)}],
        "users": [{"name": "nobody", "user": dict(user)}],
        "contexts": [{"name": "here", "context": context}],
        "current-context": "here",
    }
    file.write_text(json.dumps(config))
