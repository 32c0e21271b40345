"""Hostile texts. A line here is one more input for every verb that takes such a thing."""

from __future__ import annotations

import gzip
import json
from typing import Any

# What a shell that gets one of these names would run. It must be seen nowhere else.
CANARY = "pwned"

# Descriptions of networks, in TOML.
NETWORKS: dict[str, bytes] = {
    "a host twice": b'hosts = "a, a"\n',
    "a host in two groups": b'[[groups]]\nname = "x"\nhosts = "a"\n'
    b'[[groups]]\nname = "y"\nhosts = "a"\n',
    "hosts without end": b'hosts = "n[1-99999999999]"\n',
    "too many hosts": b'hosts = "n[1-60000]"\n',
    "hosts that are a number": b"hosts = 7\n",
    "a rate of zero": b'hosts = "a, b"\nhost_gbit_s = 0\n',
    "a rate that is no number": b'hosts = "a, b"\nhost_gbit_s = nan\n',
    "a rate without end": b'hosts = "a, b"\nhost_gbit_s = inf\n',
    "a latency below zero": b'hosts = "a, b"\nlatency_us = [-1]\n',
    "too many latencies": b'hosts = "a, b"\nlatency_us = [1, 2, 3, 4]\n',
    "a bucket below zero": b'hosts = "a, b"\nburst_bytes = -1\n',
    "a row of groups that are not there": b'hosts = "a, b"\n[[rows]]\nname = "r"\ngroups = ["x"]\n',
    "a client that is not known": b'hosts = "a, b"\n[clients.other]\noverhead_us = 1\n',
    "clients that are a list": b'hosts = "a, b"\nclients = [1]\n',
    "a share above one": b'hosts = "a, b"\n[clients.gloo]\nserialised = 2\n',
    "a key that is not known": b'hosts = "a, b"\nspeed = 3\n',
    "a command for a host": b'hosts = "$(touch pwned)"\n',
    "deep brackets": b"a = " + b"[" * 20000 + b"]" * 20000,
    "a date": b"hosts = 1979-05-27\n",
}

# Names, users and addresses of hosts.
NAMES: dict[str, str] = {
    "a command": f"y;touch${{IFS}}{CANARY};#",
    "a substitution": f"$(touch${{IFS}}{CANARY})",
    "backquotes": f"`{CANARY}`",
    "a pipe": f"a|{CANARY}",
    "an option": f"-oProxyCommand={CANARY}",
    "a wildcard": "*",
    "a negation": "!a,*",
    "a comment": "#a",
    "a marker": "@cert-authority",
    "a quote": f"a'{CANARY}",
    "a double quote": f'a"{CANARY}',
    "a backslash": f"a\\{CANARY}",
    "a percent sign": "%h%p%%",
    "a way up": f"../../{CANARY}",
    "a folder": f"/tmp/{CANARY}",
    "a title for the terminal": f"a\x1b]0;{CANARY}\x07",
    "a cleared screen": "a\x1b[2J",
    "an eight-bit escape": "a\x9b2J",
    "a carriage return": f"a\r{CANARY}",
    "two lines": f"a\n{CANARY}",
    "a NUL": "a\0b",
    "right to left": "a\u202eb",
    "no width": "a\u200bb",
    "another alphabet": "gpu\u0430\u0431",
    "another digit": "gpu\u0660",
    "a line separator": "a\u2028b",
    "a half character": "a\ud800b",
    "a space": "a b",
    "nothing": "",
    "much": "a" * 70_000,
    "markup": f"[link=file:///{CANARY}]a[/link]",
    "a page": f"<script>{CANARY}</script>",
    "braces": "a{0}{a}%s",
    "a range": "a[0-999999999]",
    "nested ranges": "a[[0-9]]",
    "a port": "a:99999",
    "an address with a zone": "fe80::1%eth0",
    "a formula": f"=cmd|'{CANARY}'!A1",
}

# A text with which no terminal may be steered: escapes of seven and eight bits, and a direction.
STEERING = f"a\x1b]0;{CANARY}\x07\x1b[2J\x9b2J\x7f\u202eb\u2028c"

# Values of options that are numbers.
NUMBERS: dict[str, str] = {
    "nothing": "",
    "zero": "0",
    "below zero": "-1",
    "another digit": "\u0661",
    "a digit apart": "1_0",
    "much": "9" * 1000,
    "no number": "nan",
    "without end": "1e999",
    "a tiny number": "1e-320",
    "the most by the million": "99999999",
    "an escape": f"\x1b]0;{CANARY}\x07",
}

# Values of options that are one of some words, or that take no value.
WORDS: dict[str, str] = {
    "nothing": "",
    "two lines": f"a\n{CANARY}",
    "an escape": f"\x1b]0;{CANARY}\x07",
}

# Values of all other options.
VALUES: dict[str, str] = {
    "nothing": "",
    "a space": " ",
    "zero": "0",
    "below zero": "-1",
    "much": "9" * 1000,
    "no number": "nan",
    "without end": "1e999",
    "an escape": f"\x1b]0;{CANARY}\x07",
    "two lines": f"a\n{CANARY}",
    "a half character": "a\udcff",
    "a command": f"$(touch {CANARY});`{CANARY}`",
    "an option": f"-oProxyCommand={CANARY}",
    "a way up": f"../{CANARY}",
    "commas": ",,,",
    "an equals sign": "=",
    "colons": "1:2:3:4:5:6:7:8:9",
    "a file of the system": "/proc/self/mem",
    "a device": "/dev/zero",
    "markup": "[bold]a[/bold][/]",
    "a size": "999999999TB",
}

# Values of any type, for a field of a JSON file that has another.
WRONG_TYPES: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 1e308, 10**400, 2**63, "", "x", [], [[]], {}, {"a": 1}, "\x1b[2J",
    "a\u202eb", [None], -0.0, 1e-320, [1e308, 1e308],
)  # fmt: skip

# A JSON value that Python's writer does not write.
RAW_VALUES = ("NaN", "Infinity", "1e999", "9" * 5000, '"\\ud800"', "[" * 100_000, "-", "0x10")

# What any file may hold.
CONTENTS: dict[str, bytes] = {
    "nothing": b"",
    "white space": b" \t\r\n\n",
    "a NUL": b"\0",
    "many NULs": b"\0" * 4096,
    "every byte": bytes(range(256)),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"format": "plink.cluster", "version": 1}'.encode("utf-16"),
    "UTF-32": "a b\n".encode("utf-32"),
    "an overlong encoding": b'{"format": "\xc0\xaf"}',
    "a lone continuation": b"a\x80b\n",
    "an escape": b"\x1b]0;pwned\x07\x1b[2J\n",
    "an eight-bit escape": b'{"format": "\xc2\x9b2J"}',
    "an escape in JSON": b'{"format": "\\u001b[2J\\u202e", "version": 1}',
    "null": b"null",
    "a number": b"1",
    "a list": b"[]",
    "an empty object": b"{}",
    "a text": b'"a"',
    "a huge integer": b"9" * 100_000,
    "a huge exponent": b"1e999999999",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000,
    "deep brackets in a text": b"a" + b"[" * 50_000 + b"]" * 50_000,
    "a key twice": b'{"format": "plink.cluster", "format": "plink.plan", "version": 1}',
    "half a character": b'{"format": "plink.cluster", "version": 1, "a": "\\ud800"}',
    "a later version": b'{"format": "plink.cluster", "version": 999}',
    "a huge version": b'{"format": "plink.plan", "version": ' + b"9" * 4000 + b"}",
    "a version of the wrong type": b'{"format": "plink.order", "version": [1]}',
    "a format of the wrong type": b'{"format": {"a": 1}, "version": 1}',
    "NaN": b'{"format": "plink.cluster", "version": NaN}',
    "one long line": b"a" * 1_000_000,
    "many lines": b"a b c\n" * 50_000,
    "many commas": b"," * 300_000,
    "carriage returns": b"a\rb\rc\r",
    "a program": b"\x7fELF" + b"\0" * 200,
    "a page": b"<!DOCTYPE html><script>pwned</script>",
    "an entity bomb": b'<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>',
    "aliases as a bomb": b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n",
    "a pickle": b"cos\nsystem\n(S'touch pwned'\ntR.",
    "a private key": b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n",
    "half an archive": gzip.compress(b'{"format": "plink.cluster"}')[:-9],
    "an archive under another name": gzip.compress(b'{"format": "plink.cluster"}'),
    "a log of one line": b'{"format": "plink.autotune-log", "version": 1}\n',
}

# The same, in files whose names end in `.gz`.
ARCHIVES: dict[str, bytes] = {
    "no archive": b"{}",
    "half an archive": gzip.compress(b"a" * 10_000, mtime=0)[:-9],
    "a wrong checksum": gzip.compress(b"{}", mtime=0)[:-8] + b"\0" * 8,
    "an archive and junk": gzip.compress(b"{}", mtime=0) + b"junk",
    "an empty archive": gzip.compress(b"", mtime=0),
    "an archive in an archive": gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0),
    "a name with a way up": b"\x1f\x8b\x08\x08\0\0\0\0\0\x03../../pwned\0" + b"\x03\0" + b"\0" * 8,
    # Archives in a row unpack to what they hold in a row, and are sooner made.
    "a bomb": gzip.compress(b" " * (1 << 20), mtime=0) * 18,
    "a bomb of zeros": gzip.compress(b'{"a": [0', mtime=0)
    + gzip.compress(b",0" * (1 << 18), mtime=0) * 34
    + gzip.compress(b"]}", mtime=0),
}

HOST_LISTS: dict[str, bytes] = {
    "one host": b"a\n",
    "the same host twice": b"a\na\n",
    "the same host in capitals": b"a\nA\n",
    "the same host under a range": b"a1\na[0-3]\n",
    "a huge range": b"a[0-999999999]\n",
    "a product of ranges": b"a[0-999]b[0-999]c[0-999]\n",
    "a range backwards": b"a[9-1]\n",
    "a range of long digits": b"a[" + b"0" * 5000 + b"-1]\n",
    "brackets without an end": b"a[" * 5000 + b"\n",
    "slots without end": b"a slots=" + b"9" * 5000 + b"\nb\n",
    "slots below zero": b"a slots=-1\nb\n",
    "a port of nothing": b"a:\nb\n",
    "a port too high": b"a:65536\nb\n",
    "two users": b"me@you@a\nb\n",
    "Windows' lines": b"a\r\nb\r\n",
    "hundreds of hosts": b"".join(b"h%d\n" % i for i in range(300)),
    "more hosts than are taken": b"".join(b"h%d\n" % i for i in range(70_000)),
    "an empty listing": b'{"items": []}',
    "a listing of nothing": b'{"items": [null, 1, "a", {}, {"kind": "Node"}]}',
    "a listing of hostile nodes": json.dumps(
        {"kind": "List", "items": [{"kind": "Node", "metadata": {"name": NAMES["a command"]},
         "status": {"addresses": [{"type": "InternalIP", "address": "a;b"}]}}]}
    ).encode(),
    "a topology without an end": b"SwitchName=a Nodes=b[0-",
    "a topology in a circle": b"SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
    **{
        f"{name} as a name": f"{text}\nb\n".encode(errors="surrogatepass")
        for name, text in NAMES.items()
    },
    **{
        f"{name} as a user": f"{text}@a\nb\n".encode(errors="surrogatepass")
        for name, text in NAMES.items()
    },
}  # fmt: skip

MATRICES: dict[str, bytes] = {
    "no unit": b",a,b\na,,1\nb,1,\n",
    "an unknown unit": b"parsec,a,b\na,,1\nb,1,\n",
    "one host": b"us,a\na,\n",
    "no hosts": b"us\n",
    "a host twice": b"us,a,a\na,,1\na,1,\n",
    "rows in another order": b"us,a,b\nb,1,\na,,1\n",
    "asymmetric hosts": b"us,a,b\na,,1\nc,1,\n",
    "a short row": b"us,a,b\na,\nb,1,\n",
    "a long row": b"us,a,b\na,,1,2\nb,1,\n",
    "all missing": b"us,a,b\na,,\nb,,\n",
    "NaN": b"us,a,b\na,,nan\nb,nan,\n",
    "infinity": b"us,a,b\na,,inf\nb,1e999,\n",
    "below zero": b"us,a,b\na,,-1\nb,1,\n",
    "digits without end": b"us,a,b\na,," + b"9" * 5000 + b"\nb,1,\n",
    "another alphabet's digits": "us,a,b\na,,١\nb,1,\n".encode(),
    "a number with an underscore": b"us,a,b\na,,1_0\nb,1,\n",
    "an open quote": b'us,a,b\na,,"1\nb,1,\n',
    "a cell without end": b'us,"' + b"a" * 300_000 + b'",b\n',
    "a column per byte": b"us" + b",a" * 100_000 + b"\n",
    "semicolons": b"us;a;b\na;;1\nb;1;\n",
    "pairs without numbers": b"source,destination,bytes,gbit_s\na,b,x,y\n",
    "pairs without end": b"source,destination,bytes,gbit_s\na,b,9e999,1e999\n",
    "a pair with itself": b"source,destination,bytes,gbit_s\na,a,1024,1\n",
    "mpiGraph without rows": b"START\n\ta:0\tb:1\nSTOP\n",
    "mpiGraph cut short": b"START\n\ta:0\tb:1\na:0\t0",
    "OSU without a pair": b"# OSU MPI Bandwidth Test\n# Size Bandwidth (MB/s)\n1 1\n",
    "OSU with a hostile pair": b"# pair: a;b -c\n# OSU MPI Bandwidth Test\n1 1\n",
    "nccl-tests without devices": b"# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728\n",
    **{
        f"{name} as a name": f"us,{text},b\n{text},,1\nb,1,\n".encode(errors="surrogatepass")
        for name, text in NAMES.items()
    },
}

SSH_CONFIGS: dict[str, bytes] = {
    "a line without a value": b"Host\n",
    "an open quote": b'Host "a\n  User "b\n',
    "a circle of files": b"Include %SELF%\n",
    "a circle of jumps": b"Host *\n ProxyJump a\n",
    "jumps without end": b"Host *\n ProxyJump " + b"a," * 5000 + b"b\n",
    "no jump": b"Host *\n ProxyJump :::\n",
    "a port of words": b"Host *\n Port abc\n",
    "a port without end": b"Host *\n Port " + b"9" * 5000 + b"\n",
    "an escape": b"Host *\n HostName \x1b]0;pwned\x07\n",
    "a file that is a device": b"Host *\n UserKnownHostsFile /dev/zero\n HostName 127.0.0.1\n",
    "a key that is a device": b"Host *\n IdentityFile /dev/zero\n HostName 127.0.0.1\n",
    "an included device": b"Include /dev/zero\n",
    "a condition that runs": b'Match exec "touch pwned"\n User a\n',
    "stars": b"Host " + b"*a" * 40 + b"b\n User a\n",
    "a token without meaning": b"Host *\n HostName %Z%h%\n",
    "a home of nobody": b"Host *\n IdentityFile ~nobody-here/x\n",
    "deep quotes": b"Host *\n ProxyCommand '" + b'"' * 9999 + b"\n",
    "Windows' lines": b"Host *\r\n User a\r\n",
}

SECRETS: dict[str, bytes] = {
    "short": b"hush",
    "white space": b" \n\t ",
    "long": b"hushhushhushhush-3f9a" * 1000,
    "NULs": b"hushhushhushhush-3f9a\0\0",
    "not text": b"\xff\xfe" * 40,
}

KNOWN_HOSTS: dict[str, bytes] = {
    "everything": b"* ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "stars": b"*a" * 60 + b"b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "no key": b"a ssh-ed25519\n",
    "no base64": b"a ssh-ed25519 !!!!\n",
    "half a hash": b"|1|AAAA ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "an authority": b"@cert-authority * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "a revoked star": b"@revoked * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "an unknown marker": b"@pwned * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
}
