from plink.probes.facts import parse

OUTPUT = """architecture x86_64
machine 6f1e0a52-5d6f-4c0e-9f0e-0f7f6c1c3c55
cores 2
ip
1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
7: eth0    inet 10.240.244.6/24 scope global eth0\\       valid_lft forever
"""


def test_facts() -> None:
    facts = parse(OUTPUT)
    assert facts is not None
    assert (facts.architecture, facts.cores) == ("x86_64", 2)
    assert facts.machine.startswith("6f1e")
    assert [(a.interface, a.address) for a in facts.addresses][-1] == ("eth0", "10.240.244.6")


def test_a_host_without_ip_or_nproc() -> None:
    facts = parse("architecture aarch64\nmachine \ncores \nhostname\n10.0.0.7 172.17.0.1\n")
    assert facts is not None
    assert (facts.machine, facts.cores) == ("", 1)
    assert [a.address for a in facts.addresses] == ["10.0.0.7", "172.17.0.1"]


def test_what_is_no_answer() -> None:
    assert parse("") is None
    assert parse("This account is currently not available.\n") is None


def test_absurd_cores() -> None:
    for cores, expected in (("9" * 5000, 1), ("\u0663", 1), ("-4", 1), ("0", 1), ("64", 64)):
        facts = parse(OUTPUT.replace("cores 2", f"cores {cores}"))
        assert facts is not None
        assert facts.cores == expected
