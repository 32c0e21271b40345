from plink.probes.facts import HostFacts, count_sharing_hosts, limit_pairs


def facts(machine: str, cores: int = 2) -> HostFacts:
    return HostFacts("x86_64", machine, cores, ())


def test_machines_of_their_own_run_all_pairs_at_once() -> None:
    assert limit_pairs([facts(f"m{i}") for i in range(9)]) == 4
    assert count_sharing_hosts([facts(f"m{i}") for i in range(9)]) == 0


def test_a_shared_machine_limits_the_pairs_by_its_cores() -> None:
    assert limit_pairs([facts("m", cores=2)] * 16) == 1
    assert limit_pairs([facts("m", cores=4)] * 16) == 3
    assert limit_pairs([facts("m", cores=64)] * 16) == 8
    assert count_sharing_hosts([facts("m")] * 16 + [facts("other")]) == 16


def test_what_takes_no_core_is_not_limited_by_them() -> None:
    assert limit_pairs([facts("m", cores=2)] * 16, cores_per_pair=0) == 8
    assert limit_pairs([facts("m")], cores_per_pair=0) == 1


def test_hosts_that_do_not_tell_their_machine_count_as_apart() -> None:
    assert limit_pairs([facts("")] * 8) == 4
