"""Containers of pods, run by podman as the manifests say: user, arguments, environment, volumes.

What Kubernetes brings is made here: the node's name, folders in place of volumes, the address of
a service. The image is a root file system with what this machine has: programs and plink.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plink

# A kernel that lets nobody raise limits refuses podman's own.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
LIMIT_S = 300

_VARIABLE = re.compile(r"\$\((\w+)\)")

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a pod runs.

    Args:
        network: as podman names it.
        fields: of the pod, such as `spec.nodeName`.
        folders: in place of volumes, by their names.
        addresses: of services.
        environment: besides the manifest's, or in its place.
    """

    network: str
    fields: Mapping[str, str]
    folders: Mapping[str, Path]
    addresses: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def words(spec: Spec, container: Spec, place: Place, image: Sequence[str]) -> list[str]:
    """What follows `podman run` for a container of a pod.

    Args:
        spec: of the pod.
        container: one of its.
        place: where it runs.
        image: the image, or what stands for it, and the entry point's command.
    """
    user, own = spec["securityContext"], container["securityContext"]
    assert user["runAsNonRoot"]
    assert own["readOnlyRootFilesystem"]
    assert not own["allowPrivilegeEscalation"]
    assert user["seccompProfile"] == {"type": "RuntimeDefault"}
    environment = {
        each["name"]: each["value"]
        if "value" in each
        else place.fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container.get("env", ())
    } | dict(place.environment)
    mounts = []
    for mount in container["volumeMounts"]:
        options = "ro" if mount.get("readOnly") else "rw"
        mounts.append(f"--volume={place.folders[mount['name']]}:{mount['mountPath']}:{options}")
    image_words, entry = list(image[:-1]), image[-1]
    said = [_expanded(word, environment) for word in container.get("args", ())]
    command = container.get("command", [entry])
    return [
        f"--network={place.network}",
        *(f"--add-host={name}:{address}" for name, address in place.addresses.items()),
        f"--user={user['runAsUser']}:{user['runAsGroup']}",
        *(f"--cap-drop={name}" for name in own["capabilities"]["drop"]),
        "--security-opt=no-new-privileges",
        "--read-only",
        "--read-only-tmpfs=false",
        f"--memory={container['resources']['limits']['memory'].removesuffix('i').lower()}",
        f"--timeout={LIMIT_S}",
        *LIMITS,
        *(f"--env={name}={value}" for name, value in environment.items()),
        *mounts,
        *image_words,
        *command,
        *said,
    ]


def podman(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman to its end."""
    done = subprocess.run(
        ["podman", "--runtime", "runc", *arguments], capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done


@contextmanager
def removed(names: Sequence[str]) -> Iterator[None]:
    """Remove containers of these names in the end."""
    try:
        yield
    finally:
        if names:
            podman("rm", "--force", "--ignore", "--time", "0", *names, check=False)


def image_of_this_machine(folder: Path) -> list[str]:
    """Words for podman that stand for an image: this machine's programs, and plink.

    The folder becomes the root, in which all else is mounted, read-only.
    """
    for name in ("dev", "etc", "home", "proc", "results", "run", "sys", "tmp", "var"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        target = Path("/", name)
        if target.is_symlink():
            (folder / name).symlink_to(target.readlink())
    for name in ("ld.so.cache", "passwd", "group", "nsswitch.conf"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), folder / "etc" / name)
    binaries = Path(sys.prefix, "bin")
    wanted = [Path("/usr"), Path(sys.prefix), Path(sys.base_prefix)]
    # An editable installation leads to the sources.
    wanted += [Path(path).resolve().parent for path in plink.__path__]
    wanted += [path.resolve() for path in Path(plink.__path__[0]).iterdir() if path.is_symlink()]
    wanted += [path for path in map(Path, ("/bin", "/lib", "/lib64")) if not path.is_symlink()]
    mounts = {str(path) for path in wanted if path.exists()} - {"/"}
    outer = [
        path
        for path in sorted(mounts)
        if not any(path != other and Path(path).is_relative_to(other) for other in mounts)
    ]
    return [
        *(f"--volume={path}:{path}:ro" for path in outer),
        f"--env=PATH={binaries}:/usr/sbin:/usr/bin:/sbin:/bin",
        "--rootfs",
        str(folder),
        str(binaries / "plink"),
    ]


def _expanded(word: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` as Kubernetes expands it."""
    return _VARIABLE.sub(lambda found: environment.get(found[1], found[0]), word)
