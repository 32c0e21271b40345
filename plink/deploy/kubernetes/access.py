"""Access to the Kubernetes API server: by address, a pod's service account, or kubectl."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from plink.base.descriptors import wait_readable
from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import defer_interrupts
from plink.base.opening import open_input
from plink.deploy.kubernetes.api_server import Access

# Where Kubernetes mounts the account of a pod.
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
_MOST_FILE_BYTES = 1 << 20
_PROXY_START_S = 30.0
_GOODBYE_S = 5.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@contextmanager
def reach(
    api: str | None = None,
    token_file: str | None = None,
    ca_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
    account: Path = _ACCOUNT,
) -> Iterator[Access]:
    """Yield address and credentials of the Kubernetes API server; may run `kubectl proxy`.

    Args:
        api: its address, `https://HOST:PORT`; None for that of the cluster whose pod this is, or
            outside of one for whatever kubectl reaches.
        token_file: with the bearer token; read anew for each request, because tokens are renewed.
        ca_file: with the certificates of the authorities that the server's may be signed by.
        environment: environment of this process.
        account: where a pod has its account.

    Raises:
        WrongUseError: an address that cannot be, or a file that cannot be read.
        PlinkError: there is no kubectl, or it does not reach a cluster.
    """
    if api is None and environment.get(_HOST) and (account / "token").is_file():
        host, port = environment[_HOST], environment.get(_PORT, "443")
        api = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        token_file = token_file or str(account / "token")
        ca_file = ca_file or str(account / "ca.crt")
    if api is not None:
        yield _direct(api, token_file, ca_file)
        return
    if token_file is not None or ca_file is not None:
        raise WrongUseError(
            "a token file or a CA file is only used with the address of an API server",
            "give it with --api URL",
        )
    with _proxy() as access:
        yield access


def _direct(api: str, token_file: str | None, ca_file: str | None) -> Access:
    url, port = _address(api)
    if url.scheme == "http" and token_file is not None and url.hostname not in _LOOPBACK:
        raise WrongUseError(f"{api}: a token would be sent unencrypted over http", "use https")
    token = partial(_read_token, token_file)
    token()
    context = _create_context(ca_file) if url.scheme == "https" else None
    host = url.hostname or ""

    def connect(timeout_s: float) -> http.client.HTTPConnection:
        if context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)

    return Access(f"the API server at {url.netloc}", connect, token, url.path.rstrip("/"))


def _address(api: str) -> tuple[SplitResult, int]:
    try:
        url = urlsplit(api)
        port = url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        url, port = urlsplit(""), 0
    is_plain = api.isascii() and api.isprintable() and not url.username and not url.query
    if url.scheme not in ("http", "https") or not url.hostname or not is_plain:
        raise WrongUseError(
            f"{api!r} is not the address of an API server", "write it as in https://10.0.0.1:6443"
        )
    return url, port


def _read_token(path: str | None) -> str | None:
    if path is None:
        return None
    text = _text(path).strip()
    if not text or not text.isprintable() or " " in text:
        raise WrongUseError(f"{path}: the file does not hold a bearer token, expected one word")
    return text


def _create_context(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=_text(ca_file))
    except (ssl.SSLError, ValueError):
        raise WrongUseError(
            f"{ca_file}: the file holds no certificates, expected them as PEM"
        ) from None


def _text(path: str) -> str:
    try:
        with open_input(path, _MOST_FILE_BYTES) as stream:
            return stream.read(_MOST_FILE_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why_not_read = getattr(error, "strerror", None) or "is not text"
        raise WrongUseError(f"{path}: {why_not_read}") from None


class _LocalConnection(http.client.HTTPConnection):
    """HTTP connection over the Unix socket of a `kubectl proxy`."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@contextmanager
def _proxy() -> Iterator[Access]:
    """Run `kubectl proxy` on a socket that only this user can open, and yield access through it."""
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="plink-kube-"))
        path = str(Path(folder, "api"))
        with defer_interrupts():
            process = _start_proxy(path)
            ends.callback(_end_proxy, process)
        _wait_until_served(process)
        yield Access("the API server", lambda timeout_s: _LocalConnection(path, timeout_s))


def _start_proxy(path: str) -> subprocess.Popen[bytes]:
    command = ["kubectl", "proxy", "--unix-socket", path]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise PlinkError(
            f"kubectl cannot be started ({error.strerror or error})",
            "outside of a pod, install kubectl or give the API server's address with --api URL",
        ) from None


def _end_proxy(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GOODBYE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _wait_until_served(process: subprocess.Popen[bytes]) -> None:
    """Wait until `kubectl proxy` prints that it serves, for at most 30 s."""
    assert process.stdout is not None  # noqa: S101  for the type checker
    output = process.stdout.fileno()
    said, end_s = b"", time.monotonic() + _PROXY_START_S
    while b"Starting to serve" not in said:
        left_s = end_s - time.monotonic()
        ready = left_s > 0 and wait_readable([output], left_s)
        chunk = os.read(output, 4096) if ready else b""
        said += chunk
        if not chunk:
            text = said.decode(errors="replace").strip().splitlines()
            reason = text[-1].removeprefix("error: ") if text else "no output"
            raise PlinkError(
                f"kubectl proxy does not start ({reason})",
                "check that kubectl get nodes works here",
            )
