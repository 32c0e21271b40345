"""A stand-in for the API server of a Kubernetes cluster, which the real kubectl talks to.

It serves lists of objects (Kubernetes API reference: `GET /api/v1/namespaces/NS/pods` with
`labelSelector`) and what kubectl asks first to learn which kinds there are. It keeps no state but
the objects it was given, and asks for no password.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
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

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            found = server.answer(self.path)
            content = json.dumps(found or {"kind": "Status", "code": 404}).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    server.config.write_text(_config(listening.server_port, namespace))
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def is_selected(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a selector (Kubernetes documentation, Labels and Selectors)."""
    place = 0
    while place < len(selector):
        term = _TERM.match(selector, place)
        assert term is not None, selector
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


def _config(port: int, namespace: str) -> str:
    context = {"cluster": "stand-in", "user": "nobody", "namespace": namespace}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "stand-in", "cluster": {"server": f"http://127.0.0.1:{port}"}},
            ],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "here", "context": context}],
            "current-context": "here",
        }
    )
