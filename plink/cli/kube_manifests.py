"""Action of `plink kube manifests`: write a folder of manifests."""

from __future__ import annotations

import shlex
from pathlib import Path

from plink.cli.json_output import print_json_line
from plink.cli.stderr import note, read_kept_secret
from plink.deploy.kubernetes.folder import SECRET, files, write
from plink.files.outputs import Manifests
from plink.transport.proofs import new_secret


def run(
    output: str, image: str, secret_file: str | None, *, host_network: bool, as_json: bool
) -> int:
    """Write the folder of manifests; return the exit code."""
    content = files(image, host_network=host_network)
    secret = new_secret() if secret_file is None else read_kept_secret(secret_file)
    whole = {name: text.encode() for name, text in content.items()} | {SECRET: secret + b"\n"}
    write(Path(output), whole)
    names = sorted(whole)
    if as_json:
        print_json_line(Manifests(output, names))
    note(f"{len(names)} files -> {output}; next: kubectl apply -k {shlex.quote(output)}")
    return 0
