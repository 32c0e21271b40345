"""Command templates: what of them a host's name and a command can change."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import OptionError
from plink.probes.via import parse_template


def test_the_words_of_a_command_follow_the_template() -> None:
    template = parse_template("kubectl exec -i -n ml {host} -c main --")
    assert template.argv("gpu-0", "echo a  b") == [
        *("kubectl", "exec", "-i", "-n", "ml", "gpu-0", "-c", "main", "--"),
        *("sh", "-c", "echo a  b"),
    ]


def test_a_command_may_have_a_place_of_its_own_as_one_word() -> None:
    template = parse_template("ssh -p 22 root@{host} {command}")
    assert template.argv("n1", "echo 'a  b'") == [
        *("ssh", "-p", "22", "root@n1"),
        shlex.join(["sh", "-c", "echo 'a  b'"]),
    ]


def test_braces_of_other_programs_stay() -> None:
    template = parse_template("docker exec --env 'F={{.State}}' {host}")
    assert template.argv("c", "true")[2:4] == ["--env", "F={{.State}}"]


@given(st.text(min_size=1).filter(lambda text: "\0" not in text), st.text())
def test_no_name_or_command_changes_the_number_of_words(host: str, command: str) -> None:
    argv = parse_template("podman exec -i {host}").argv(host, command)
    assert argv == ["podman", "exec", "-i", host, "sh", "-c", command]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kubectl exec -i pod --", r"does not contain \{host\}"),
        ("", r"does not contain \{host\}"),
        ("docker exec 'a {host}", "no closing quotation"),
        ("docker exec {host}\x1b[2J", "control characters"),
    ],
)
def test_what_is_no_template_is_refused(text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason) as caught:
        parse_template(text)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("write it as in 'kubectl")
