"""What `plink kube manifests` does."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from plink.autotune.protocol.handshake import make_secret
from plink.base.text import json_text
from plink.cli.stderr import note
from plink.deploy.kubernetes.folder import SECRET, files, write


def run(output: str, *, image: str, host_network: bool, as_json: bool) -> int:
    """Write the folder; return the exit code."""
    content = files(image, host_network=host_network)
    write(Path(output), content)
    make_secret(str(Path(output, SECRET)))
    names = sorted([*content, SECRET])
    if as_json:
        click.echo(json_text({"output": output, "files": names}))
    note(f"{len(names)} files -> {output}; next: kubectl apply -k {shlex.quote(output)}")
    return 0
