"""Write a folder of Kubernetes manifests for plink's agents, a measuring job and their secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from plink.base.errors import PlinkError, WrongUseError
from plink.base.new_folder import make_folder

SECRET = "secret"  # noqa: S105  the name of the file
_SECRET_MODE, _FILE_MODE = 0o600, 0o666

# The grammar of references to images, without digests of other lengths than those in use.
_IMAGE = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]{1,5})?(?:/[a-z0-9][a-z0-9._-]*)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_FILES = Path(__file__).with_name("manifests")
_KUSTOMIZATION = "kustomization.yaml"
_NAMED = "    newName: plink\n    newTag: latest\n"
# By file: what stands there, and what stands there for the network of nodes.
_HOST_NETWORK = {
    "agents.yaml": (
        "# hostNetwork: true\n      # dnsPolicy: Cluster",
        "hostNetwork: true\n      dnsPolicy: Cluster",
    ),
    "namespace.yaml": ("enforce: restricted", "enforce: privileged"),
}


def files(image: str, *, host_network: bool) -> dict[str, str]:
    """Return the text of each Kubernetes manifest by file name, without the secret.

    Args:
        image: such as `registry:5000/plink:0.1.0`, with a tag, a digest or neither (`latest`).
        host_network: use the network of nodes.

    Raises:
        WrongUseError: not the name of an image.
    """
    found = _IMAGE.fullmatch(image)
    if found is None:
        raise WrongUseError(
            f"{image!r} is not the name of a container image",
            "write it as in registry:5000/plink:0.1.0",
        )
    named = f"    newName: {_quote(found['name'])}\n"
    if found["digest"] is not None:
        named += f"    digest: {found['digest']}\n"
    else:
        named += f"    newTag: {_quote(found['tag'] or 'latest')}\n"
    content = {file.name: file.read_text(encoding="utf-8") for file in _FILES.glob("*.yaml")}
    content[_KUSTOMIZATION] = content[_KUSTOMIZATION].replace(_NAMED, named)
    if host_network:
        content |= {
            name: content[name].replace(before, after)
            for name, (before, after) in _HOST_NETWORK.items()
        }
    return content


def write(folder: Path, content: Mapping[str, bytes]) -> None:
    """Write manifests and secret into a new folder; only the owner may read the secret.

    Raises:
        WrongUseError: there is something already.
        PlinkError: it cannot be written; then no file is there.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise WrongUseError(f"{folder}: the folder is not empty", "choose a new folder")
        with make_folder(folder) as made:
            for name, data in content.items():
                mode = _SECRET_MODE if name == SECRET else _FILE_MODE
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with os.fdopen(os.open(made / name, flags, mode), "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlinkError(f"{folder}: cannot be written ({reason})") from None


def _quote(text: str) -> str:
    # A tag may look like a number, and a name with a port like a pair.
    return f'"{text}"'
