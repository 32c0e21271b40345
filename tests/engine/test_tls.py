"""Ranks that talk by TLS: right sums, nothing to read on the way, and who does not fit is told."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from engine.between import Between, MisleadingStore, between
from engine.certificates import job
from engine.forests import binary_tree, chains, random_forest, stars
from engine.group import QUICK, group
from engine.test_setup import Intruder, outcomes, pair
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, EngineError, Forest, Options, Tls, _native, meeting
from plink.transport.tls import tls_of

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(not _native.HAS_TLS, reason="this build has no TLS"),
]

# Long enough for a hand-shake, short enough to wait for its end.
ALERT = 0x15

Sums = np.ndarray[Any, Any]

HASTY = replace(QUICK, setup_timeout_s=8.0, shared_memory=False)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> str:
    return job(tmp_path_factory.mktemp("tls") / "job", ranks=3)


def sum_of(engine: Engine, items: int) -> Sums:
    array = np.arange(items) * (engine.rank + 1.0)
    engine.allreduce(array).wait(30)
    return array


def reduced(forest: Forest, options: Options, items: int = 300_001, times: int = 3) -> set[str]:
    """Reduce and check; the ciphers that were used."""
    with group(forest, options) as ranks:
        for _ in range(times):
            expected = np.arange(items) * (forest.ranks * (forest.ranks + 1) / 2)
            sums = ranks.on_all(lambda engine: sum_of(engine, items))
            assert all(np.array_equal(one, expected) for one in sums)
        figures = ranks.on_all(Engine.statistics)
    return {one.cipher for figure in figures for one in figure.connections}


@pytest.mark.parametrize(
    "forest", [stars(2), chains(3), binary_tree(4), random_forest(5, 4, 3)], ids=lambda _: "forest"
)
def test_sums_are_right_whatever_the_plan(forest: Forest, certificates: str) -> None:
    options = replace(QUICK, tls=f"{certificates}/host", shared_memory=False)
    (cipher,) = reduced(forest, options)
    assert cipher in ("TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")


def test_small_ones_one_after_the_other(certificates: str) -> None:
    options = replace(QUICK, tls=f"{certificates}/host", shared_memory=False)
    assert len(reduced(stars(3), options, items=7, times=300)) == 1


@pytest.mark.parametrize("is_record_by_record", [False, True])
def test_keys_are_renewed_and_records_may_go_one_by_one(
    is_record_by_record: bool, certificates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def context(rank: int, options: Options) -> _native.TlsContext:
        files = options.certificates(rank)
        assert files is not None
        return _native.TlsContext(
            files.certificate, files.key, files.authority, [], 2, is_record_by_record
        )

    monkeypatch.setattr(meeting, "_tls_context", context)
    options = replace(QUICK, tls=f"{certificates}/host", shared_memory=False)
    assert "" not in reduced(chains(3), options)


def test_an_encrypted_engine_is_closed_while_another_thread_asks_it(certificates: str) -> None:
    options = replace(QUICK, shared_memory=False, tls=f"{certificates}/host")
    for _ in range(5):
        with group(stars(3), options) as ranks:
            engine = ranks.engines[0]
            is_over = threading.Event()

            def ask(engine: Engine = engine, is_over: threading.Event = is_over) -> None:
                while not is_over.is_set():
                    assert engine.next_collective == 1

            asking = threading.Thread(target=ask, daemon=True)
            ranks.on_all(lambda engine: sum_of(engine, 1000))
            asking.start()
            closing = threading.Thread(target=engine.close, daemon=True)
            closing.start()
            closing.join(20.0)
            assert not closing.is_alive()
            is_over.set()
            asking.join(20.0)
            assert not asking.is_alive()


def test_ranks_of_one_host_share_memory_and_need_no_cipher(certificates: str) -> None:
    assert reduced(stars(2), replace(QUICK, tls=f"{certificates}/host")) == {""}


def test_certificates_may_name_ranks(certificates: str) -> None:
    options = replace(QUICK, tls=f"{certificates}/{{rank}}", shared_memory=False)
    assert "" not in reduced(stars(3), options, items=100)
    # A group of some of the job's ranks numbers them anew.
    named = replace(options, tls=replace(Tls.of_folder(f"{certificates}/{{rank}}"), names=(2, 0)))
    assert "" not in reduced(stars(2), named, items=100)


CALLER = r"rank 1 could not be connected within 8 s; a caller from 127\.0\.0\.1 "
CALLED = r"rank 0 \(127\.0\.0\.1 port \d+\) "


MISFITS: dict[tuple[str | None, str | None], tuple[str, str]] = {
    ("host", "expired"): (
        CALLER + "has a certificate that has expired",
        CALLED + "refused this rank's certificate: it has expired, or is not valid yet",
    ),
    ("expired", "host"): (
        CALLER + "refused this rank's certificate: it has expired, or is not valid yet",
        CALLED + "has a certificate that has expired",
    ),
    ("host", "other"): (
        # Each believes its own authority only, and the caller is the first to look.
        CALLER + "refused this rank's certificate: its authority did not sign it",
        CALLED + "has a certificate that this job's authority did not sign",
    ),
    ("host", "2"): (
        "rank 1 was refused: its certificate does not speak for rank 1",
        CALLED + "refused this rank: its certificate does not speak for rank 1",
    ),
    ("host", "none"): (
        "rank 1 was refused: its certificate does not speak for rank 1",
        CALLED + "refused this rank: its certificate does not speak for rank 1",
    ),
    ("1", "host"): (
        CALLER + "refused this rank's certificate: it is for another rank, or broken",
        CALLED + "has a certificate for another rank",
    ),
    ("host", None): (
        "rank 1 was refused: it does not use TLS, as this rank does",
        CALLED + "refused this rank: it does not use TLS, as this rank does",
    ),
    (None, "host"): (
        CALLER + "speaks TLS, which this rank does not",
        CALLED + "broke off the hand-shake of TLS: does it use TLS, too[?]",
    ),
}


@pytest.fixture(scope="module")
def said(
    certificates: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str | None, str | None], list[str]]:
    """What ranks 0 and 1 say; all pairs wait for their time-out together."""
    folder = tmp_path_factory.mktemp("misfits")
    folders = {kind: f"{certificates}/{kind}" for kind in ("host", "none", "1", "2")}
    folders["other"] = job(folder / "other") + "/host"
    folders["expired"] = expired(certificates, folder)

    def ends(kinds: tuple[str | None, str | None]) -> list[str]:
        options = [replace(HASTY, tls=kind and folders[kind]) for kind in kinds]
        return outcomes(pair(folder / f"{kinds[0]}-{kinds[1]}", *options))

    with ThreadPoolExecutor(len(MISFITS)) as threads:
        return dict(zip(MISFITS, threads.map(ends, MISFITS), strict=True))


@pytest.mark.parametrize("kinds", MISFITS, ids=lambda kinds: "-".join(map(str, kinds)))
def test_who_does_not_fit_is_told_on_both_sides(
    said: dict[tuple[str | None, str | None], list[str]], kinds: tuple[str | None, str | None]
) -> None:
    for sentence, expected in zip(said[kinds], MISFITS[kinds], strict=True):
        assert re.fullmatch(expected, sentence)


def expired(certificates: str, folder: Path) -> str:
    """A certificate of no use any more, of an authority that all ranks believe."""
    old = Path(job(folder / "old", days=-1)) / "host"
    believed = Path(certificates) / "host" / "authority.pem"
    both = believed.read_bytes() + (old / "authority.pem").read_bytes()
    believed.write_bytes(both)
    (old / "authority.pem").write_bytes(both)
    return str(old)


def test_strangers_are_turned_away_while_the_ranks_connect(
    certificates: str, tmp_path: Path
) -> None:
    first = pair(tmp_path, replace(HASTY, tls=f"{certificates}/host"))[:1]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outcomes, first)
        intruder = Intruder(tmp_path)
        alert = intruder.say(b"GET / HTTP/1.1\r\nHost: plink\r\n\r\n" + bytes(100))
        assert alert == b"" or alert[0] == ALERT
        refused = intruder.say(intruder.hello(job=b"x" * 16))
        assert refused.endswith(b"it belongs to another job")
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        nobody.check_hostname = False
        nobody.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(intruder.address) as plain,
            nobody.wrap_socket(plain) as caller,
            pytest.raises(ssl.SSLError, match="certificate required"),
        ):
            caller.recv(1)
        outdated = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        outdated.check_hostname = False
        outdated.maximum_version = ssl.TLSVersion.TLSv1_2
        with (
            socket.create_connection(intruder.address) as plain,
            pytest.raises(ssl.SSLError, match="protocol version"),
        ):
            outdated.wrap_socket(plain)
        assert waiting.running()
        (said,) = waiting.result()
    assert said.startswith("rank 1 could not be connected within 8 s; a caller from 127.0.0.1 ")


def with_pass_phrase(key: str, folder: Path) -> str:
    locked = folder / "locked.pem"
    pem = load_pem_private_key(Path(key).read_bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")
    )
    locked.write_bytes(pem)
    return str(locked)


def test_files_that_cannot_be_used_are_named(certificates: str, tmp_path: Path) -> None:
    own = Tls.of_folder(f"{certificates}/host")
    junk = tmp_path / "junk.pem"
    junk.write_text("nothing of the kind")
    for tls, sentence in [
        (replace(own, key="/nowhere/key.pem"), "/nowhere/key.pem: No such file or directory"),
        (replace(own, certificate=str(junk)), "junk.pem: holds no certificate in PEM form"),
        (replace(own, authority=str(junk)), "junk.pem: holds no certificate of an authority"),
        (replace(own, key=f"{certificates}/1/key.pem"), "key.pem: "),
        (replace(own, key=with_pass_phrase(own.key, tmp_path)), "locked.pem: holds no private key"),
    ]:
        with pytest.raises(WrongUseError, match=re.escape(sentence)):
            Engine(0, 2, DirectoryStore(tmp_path), stars(2), replace(HASTY, tls=tls))


def test_the_environment_names_a_folder_or_three_files() -> None:
    assert tls_of({}) is None
    assert tls_of({"PLINK_TLS": "d"}) == Tls("d/certificate.pem", "d/key.pem", "d/authority.pem")
    files = {"PLINK_TLS_CERTIFICATE": "c", "PLINK_TLS_KEY": "k", "PLINK_TLS_AUTHORITY": "a"}
    assert tls_of(files) == Tls("c", "k", "a")
    with pytest.raises(WrongUseError, match="PLINK_TLS_KEY without PLINK_TLS_CERTIFICATE"):
        tls_of({"PLINK_TLS_KEY": "k"})
    with pytest.raises(WrongUseError, match="do not go together"):
        tls_of({**files, "PLINK_TLS": "d"})


def through(somebody: Between, folder: Path, tls: str | None, items: int) -> list[Sums | str]:
    """What each of two ranks has after an all-reduce through somebody's hands, or its error."""
    options = replace(QUICK, tls=tls, shared_memory=False, silence_timeout_s=5.0)

    def rank(number: int) -> Sums | str:
        store = DirectoryStore(folder) if number == 0 else MisleadingStore(folder, somebody)
        array = np.frombuffer(b"secret%02d" * (items // 8) % ((number,) * (items // 8)), np.int64)
        array = array.copy()
        try:
            with Engine(number, 2, store, stars(2), options) as engine:
                engine.allreduce(array).wait(30)
        except EngineError as error:
            return str(error)
        return array

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(rank, range(2)))


def test_who_reads_the_network_sees_nothing(certificates: str, tmp_path: Path) -> None:
    seen = {}
    for tls in (None, f"{certificates}/host"):
        with between() as somebody:
            first, second = through(somebody, tmp_path / str(bool(tls)), tls, 1 << 17)
            assert isinstance(first, np.ndarray)
            assert np.array_equal(first, second)
        seen[tls] = somebody.seen
    clear, hidden = seen.values()
    assert b"secret01secret01" in clear
    assert len(hidden) > len(clear)
    assert b"secret" not in hidden
    assert b"plinkeng" in clear
    assert b"plinkeng" not in hidden


def test_who_changes_a_byte_ends_the_step(certificates: str, tmp_path: Path) -> None:
    for tls in (None, f"{certificates}/host"):
        with between(flip_at=100_000) as somebody:
            said = through(somebody, tmp_path / str(bool(tls)), tls, 1 << 20)
        if tls is None:
            # So it would be without.
            assert all(isinstance(one, np.ndarray) for one in said)
        else:
            # Either end may be the one that the ranks agree on.
            assert all(re.search("is lost: what .* changed on the way", str(one)) for one in said)


def test_who_ends_a_connection_ends_the_step(certificates: str, tmp_path: Path) -> None:
    """TLS itself takes such an end for a right one here; the engine does not."""

    def cut(at: int) -> list[Sums | str]:
        with between(cut_at=at) as somebody:
            return through(somebody, tmp_path / str(at), f"{certificates}/host", 1 << 20)

    # At the beginning of the data, past the longest hand-shake, and in its middle.
    with ThreadPoolExecutor(2) as threads:
        said = [one for both in threads.map(cut, [10_000, 100_000]) for one in both]
    assert len(said) == 4
    assert all(re.search("rank [01] .*is lost: it closed the connection", str(one)) for one in said)


def test_a_killed_connection_names_the_rank(certificates: str, tmp_path: Path) -> None:
    options = replace(QUICK, tls=f"{certificates}/host", shared_memory=False)
    with group(stars(3), options) as ranks:
        ranks.on_all(lambda engine: engine.allreduce(np.ones(10)).wait(20))
        ranks.engines[2].close()
        for engine in ranks.engines[:2]:
            with pytest.raises(PlinkError, match=r"rank 2 .* closed its engine"):
                engine.allreduce(np.ones(10)).wait(20)


def test_an_interrupt_when_the_folder_was_just_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = Path.mkdir

    def interrupt(path: Path, mode: int) -> None:
        mkdir(path, mode)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", interrupt)
        with pytest.raises(KeyboardInterrupt):
            job(tmp_path / "tls")
    assert list(tmp_path.iterdir()) == []
