from plink.probes.errors import HostError


def test_a_hosts_own_words_are_made_fit_for_a_terminal() -> None:
    error = HostError("h", "said \x1b]0;title\x07 and \u202e\n\x9b2J then", "a hint")
    assert str(error) == "said \ufffd]0;title\ufffd and \ufffd\ufffd\ufffd2J then"
    assert (error.host, error.hint) == ("h", "a hint")


def test_what_a_host_says_without_end_is_cut() -> None:
    message = str(HostError("h", "x" * 10_000))
    assert len(message) == 200
    assert message.endswith("...")
    assert str(HostError("h", "gpu-ü 日本")) == "gpu-ü 日本"
