"""Hosts that are known by a certificate: what ssh-keygen signs, and what a real sshd shows."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from plink.probes.errors import HostError
from plink.probes.ssh.connect import SshOpener
from plink.probes.ssh.known_hosts import (
    CertificateError,
    KnownHosts,
    UnknownAuthorityError,
    read_authority,
)
from plink.probes.ssh.known_hosts import check_certificate as check
from support.sshd import SSHD, Sshd, make_key, running_sshd

needs_sshd = pytest.mark.skipif(SSHD is None, reason="needs sshd")
NAME = "gpu1.example.com"


def certify(key: Path, authority: Path, *options: str) -> Path:
    """A certificate of a key, for hosts unless `options` say otherwise."""
    subprocess.run(
        ["ssh-keygen", "-q", "-s", authority, "-I", "test", *options, f"{key}.pub"], check=True
    )
    return Path(f"{key}-cert.pub")


def public(key: Path) -> str:
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def blob(key: Path) -> bytes:
    return base64.b64decode(key.read_text().split()[1])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    found = {kind: make_key(folder / kind, kind) for kind in ("rsa", "ecdsa", "ed25519")}
    return {**found, "host": make_key(folder / "host"), "other": make_key(folder / "other")}


def judge(keys: dict[str, Path], *options: str, by: str = "ed25519", name: str = NAME) -> None:
    host, authority = keys["host"], keys[by]
    certificate = blob(certify(host, authority, *options))
    assert read_authority(certificate) == blob(Path(f"{authority}.pub"))
    check(certificate, blob(Path(f"{host}.pub")), name, [blob(Path(f"{authority}.pub"))])


@pytest.mark.parametrize(
    "principals", ["", NAME, "*.example.com", "a,gpu?.example.com", "GPU1.example.com"]
)
def test_a_certificate_for_the_host(keys: dict[str, Path], principals: str) -> None:
    judge(keys, "-h", *(["-n", principals] if principals else []))


@pytest.mark.parametrize("by", ["rsa", "ecdsa", "ed25519"])
def test_authorities_of_every_kind(keys: dict[str, Path], by: str) -> None:
    judge(keys, "-h", "-V", "-1h:+1h", by=by)


@pytest.mark.parametrize(
    ("options", "by", "reason"),
    [
        (
            ("-h", "-n", "gpu2.example.com"),
            "ed25519",
            "is for the hosts gpu2.example.com and not for gpu1",
        ),
        (("-h", "-V", "-2d:-1d"), "ed25519", "was valid until 20"),
        (("-h", "-V", "+1d:+2d"), "ed25519", "is not valid before 20"),
        (("-n", NAME), "ed25519", "is for a user, expected one for a host"),
        (("-h", "-O", "critical:x@y=z"), "ed25519", "has the critical option x@y"),
        (("-h", "-t", "ssh-rsa"), "rsa", "is signed with SHA-1"),
    ],
)
def test_a_certificate_that_proves_nothing(
    keys: dict[str, Path], options: tuple[str, ...], by: str, reason: str
) -> None:
    with pytest.raises(CertificateError, match=reason):
        judge(keys, *options, by=by)


def test_a_certificate_that_was_changed(keys: dict[str, Path]) -> None:
    whole = blob(certify(keys["host"], keys["ed25519"], "-h", "-n", "evil.example.com"))
    key, authority = (blob(Path(f"{keys[name]}.pub")) for name in ("host", "ed25519"))
    with pytest.raises(CertificateError, match="has a signature that"):
        check(whole.replace(b"evil", b"gpu1"), key, NAME, [authority])
    for cut in range(0, len(whole), 7):
        with pytest.raises(CertificateError):
            check(whole[:cut], key, "evil.example.com", [authority])
    other = blob(Path(f"{keys['other']}.pub"))
    with pytest.raises(CertificateError, match="is for a key other than"):
        check(whole, other, "evil.example.com", [authority])
    with pytest.raises(UnknownAuthorityError):
        check(whole, key, "evil.example.com", [other])


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ("*.example.com", "gpu1.example.com", True),
        ("*.example.com", "[gpu1.example.com]:2222", True),
        ("[*.example.com]:2222", "[gpu1.example.com]:2222", True),
        ("[*.example.com]:2222", "gpu1.example.com", False),
        ("*.example.com,!gpu1.example.com", "gpu1.example.com", False),
        ("*.example.com", "gpu1.example.org", False),
    ],
)
def test_whose_authority_it_is(
    keys: dict[str, Path], tmp_path: Path, names: str, name: str, expected: bool
) -> None:
    authority = keys["ed25519"]
    (tmp_path / "k").write_text(f"@cert-authority {names} {public(authority)} our CA\n")
    known = KnownHosts().of(name, [str(tmp_path / "k")])
    assert known.authorities == ({blob(Path(f"{authority}.pub"))} if expected else set())
    assert known.trusted == frozenset()
    with (tmp_path / "k").open("a") as file:
        file.write(f"@revoked * {public(authority)}\n")
    assert blob(Path(f"{authority}.pub")) in KnownHosts().of(name, [str(tmp_path / "k")]).revoked


def outcome(server: Sshd, known: str, *, name: str = NAME, accept: bool = False) -> str:
    """`connected`, or why not; the host is known by `name` on the server's port."""
    server.known.write_text(known)
    options = server.options(lines=f"  HostKeyAlias {name}\n", accept_new_host_keys=accept)
    try:
        session = SshOpener(options).connect(server.target(options))
    except HostError as error:
        return f"{error}; {error.hint}"
    with_output = session.run("echo connected").stdout.decode().strip()
    session.close()
    return with_output


@needs_sshd
@pytest.mark.timing
@pytest.mark.parametrize("by", ["ed25519", "rsa"])
def test_a_real_sshd_with_a_certificate(keys: dict[str, Path], tmp_path: Path, by: str) -> None:
    authority = keys[by]

    def more(key: Path) -> str:
        certificate = certify(key, authority, "-h", "-n", f"{NAME},127.0.0.1")
        return f"HostCertificate {certificate}\n"

    with running_sshd(tmp_path, more) as server:
        trusted = f"@cert-authority *.example.com {public(authority)}\n"
        assert outcome(server, trusted) == "connected"
        assert outcome(server, f"{NAME} {public(keys['other'])}\n{trusted}") == "connected"
        # Without the alias it is known by its address, on a port of its own.
        server.known.write_text(f"@cert-authority 127.0.0.* {public(authority)}\n")
        options = server.options()
        SshOpener(options).connect(server.target(options)).close()
        assert "host key is not in known_hosts; connect once" in outcome(server, "")
        elsewhere = f"@cert-authority *.org {public(authority)}\n"
        assert "host key is not in known_hosts; connect once" in outcome(server, elsewhere)
        wrong = f"@cert-authority * {public(keys['other'])}\n"
        assert "signed by an authority that known_hosts does not trust" in outcome(server, wrong)
        assert "is revoked" in outcome(server, f"@revoked * {public(authority)}\n{trusted}")
        assert "is revoked" in outcome(server, f"@revoked * {server.host_key}\n{trusted}")
        misnamed = outcome(server, f"@cert-authority * {public(authority)}\n", name="gpu2")
        assert (
            f"its SSH host certificate is for the hosts {NAME}, 127.0.0.1 and not for gpu2"
            in misnamed
        )
        assert "HostKeyAlias" in misnamed
        # Nor is it a host that was never seen: the authority is known, and says another name.
        again = outcome(server, f"@cert-authority * {public(authority)}\n", name="g2", accept=True)
        assert "not for g2" in again
        assert outcome(server, f"gpu3 {server.host_key}\n{trusted}", name="gpu3") == "connected"


@needs_sshd
@pytest.mark.timing
def test_a_real_sshd_whose_certificate_is_over(keys: dict[str, Path], tmp_path: Path) -> None:
    authority = keys["ed25519"]
    trusted = f"@cert-authority * {public(authority)}\n"

    def more(key: Path) -> str:
        return f"HostCertificate {certify(key, authority, '-h', '-V', '-2d:-1d')}\n"

    with running_sshd(tmp_path, more) as server:
        assert "its SSH host certificate was valid until 20" in outcome(server, trusted)
        assert "was valid until 20" in outcome(server, trusted, accept=True)
        assert outcome(server, f"{NAME} {server.host_key}\n{trusted}") == "connected"


@needs_sshd
@pytest.mark.timing
def test_a_real_sshd_without_the_certificate(keys: dict[str, Path], tmp_path: Path) -> None:
    trusted = f"@cert-authority * {public(keys['ed25519'])}\n"
    with running_sshd(tmp_path) as server:
        assert "it shows no certificate of the authority that is" in outcome(server, trusted)
        assert outcome(server, f"{NAME} {server.host_key}\n{trusted}") == "connected"
