"""Traces of others: what is written is read again, and nothing hostile passes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError, WrongUseError
from plink.simulate.making import schedule_of_table
from plink.simulate.schedule import RECEIVE, SEND, BrokenScheduleError, Schedule, check
from plink.simulate.traces import chakra, files, goal, protobuf
from plink.simulate.traces.collectives import collective_steps
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS, find
from simulate.schedules import content, schedules

EVERY = {**ALGORITHMS, **OTHERS}
MOST_OPERATIONS = 2000

GOAL = """num_ranks 2
rank 0 {
l1: send 1000b to 1 tag 7
l2: calc 500
l2 requires l1
}
rank 1 {
l1: recv 1000b from 0 tag 7
}
"""

TEXT = goal.to_text(schedule_of_table(find("openmpi-recursive-doubling").table(4, 1000)))


@given(schedules())
def test_goal_is_read_as_it_was_written(schedule: Schedule) -> None:
    assert content(goal.parse(goal.to_text(schedule), "file")) == content(schedule)


@given(schedules())
def test_chakra_is_read_as_it_was_written(schedule: Schedule) -> None:
    written = list(chakra.files_of(schedule))
    found = chakra.parse(written, [str(rank) for rank in range(schedule.ranks)])
    assert content(found) == content(schedule)


@given(st.data())
def test_any_table_comes_back_whole(data: st.DataObject) -> None:
    """Every byte that is sent is received, nobody waits in a circle, and all bytes are there."""
    name = data.draw(st.sampled_from(sorted(EVERY)))
    ranks = data.draw(st.sampled_from([2, 3, 4, 7, 8, 16]))
    size = data.draw(st.integers(1, 30_000_000))
    if EVERY[name].refusal(ranks) is not None:
        return
    table = EVERY[name].table(ranks, size)
    schedule = schedule_of_table(table)
    if schedule.operations > MOST_OPERATIONS:
        return
    labels = [str(rank) for rank in range(ranks)]
    of_chakra = chakra.parse(list(chakra.files_of(schedule)), labels)
    for found in (goal.parse(goal.to_text(schedule), "file"), of_chakra):
        messages = check(found)
        assert np.array_equal(found.amount[messages.sends], found.amount[messages.receives])
        assert np.array_equal(found.bytes_between(), schedule.bytes_between())
    # Shares become whole bytes, message by message.
    difference = np.abs(schedule.bytes_between() - table.bytes_between())
    np.fill_diagonal(difference, 0.0)
    assert difference.sum() <= 0.5 * sum(len(step.sources) for step in table.rounds)


@given(st.data())
def test_a_changed_line_is_a_schedule_or_refused(data: st.DataObject) -> None:
    """Lines of a real trace that go, come twice, change places or lose a digit."""
    lines = TEXT.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.integers(0, 3))
        if what == 0 and len(lines) > 1:
            del lines[place]
        elif what == 1:
            lines.insert(other, lines[place])
        elif what == 2:
            lines[place], lines[other] = lines[other], lines[place]
        else:
            cut = data.draw(st.integers(0, len(lines[place])))
            lines[place] = lines[place][:cut] + lines[place][cut + 1 :]
    with contextlib.suppress(WrongUseError, BrokenScheduleError):
        found = goal.parse("\n".join(lines), "file")
        messages = check(found)
        assert len(messages.sends) * 2 == np.isin(found.kind, (SEND, RECEIVE)).sum()
        assert content(goal.parse(goal.to_text(found), "file")) == content(found)


@pytest.mark.parametrize("name", ["openmpi-rabenseifner", "nccl-tree"])
@pytest.mark.parametrize("format_name", files.FORMATS)
def test_a_trace_in_files_sends_what_the_table_says(
    name: str, format_name: str, tmp_path: Path
) -> None:
    table = find(name).table(8, 8_000_000)
    written = schedule_of_table(table)
    names = files.write(format_name, str(tmp_path / "job.et"), written)
    found = files.read(names[-1])
    check(found)
    assert content(found) == content(written)
    assert np.array_equal(found.bytes_between(), table.bytes_between())


def test_a_trace_does_not_go_beside_one_of_more_ranks(tmp_path: Path) -> None:
    """Together they would be read as one."""
    output = str(tmp_path / "job")
    wide, narrow = (schedule_of_table(find("ring").table(ranks, 1000)) for ranks in (4, 3))
    files.write("chakra", output, wide)
    with pytest.raises(WrongUseError, match=r"job.3.et: is there, of a trace with more than 3"):
        files.write("chakra", output, narrow)
    files.write("chakra", output, wide)
    assert content(files.read(output)) == content(wide)


def test_goal_is_the_text_that_its_readers_know() -> None:
    assert goal.to_text(goal.parse(GOAL, "file")) == GOAL


def test_goal_has_comments_processors_and_operations_without_labels() -> None:
    text = """// a trace
    num_ranks 2 /* of
    two */
    rank 1 {
      recv 8b from -1 tag -1 cpu 1 nic 0
      b: calc 3 cpu 2
      c: calc 4
      b irequires c
    }
    rank 0 { // the other
      send 8b to 1
    }
    """
    found = goal.parse(text, "file")
    check(found)
    assert found.kind.tolist() == [1, 2, 2, 0]
    assert found.before.tolist() == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("num_ranks 2", "num_ranks 0", "line 1: ranks 0 is not between 1 and 65536"),
        ("num_ranks 2\n", "", "line 1: a rank before num_ranks"),
        ("rank 1 {", "rank 2 {", "line 7: the rank 2 is not between 0 and 1"),
        ("rank 1 {", "rank 0 {", "line 7: rank 0 stands twice"),
        ("to 1", "to 5", "line 3: the peer 5 is not between 0 and 1"),
        ("to 1", "to 0", "line 3: rank 0 exchanges data with itself"),
        ("send 1000b", "send b", "line 3: 'l1: send b to 1 tag 7' is no operation of GOAL"),
        ("send 1000b", f"send {10**30}b", "line 3: the size"),
        ("l2: calc", "l1: calc", "line 4: l1 stands twice in rank 0"),
        ("requires l1", "requires l9", "line 5: no operation of rank 0 is called l9"),
        ("}\nrank 1", "rank 1", "line 6: a rank inside of another"),
        ("tag 7\n}", "tag 7", "ends inside of rank 1"),
    ],
)
def test_wrong_goal_is_refused_in_a_sentence(old: str, new: str, says: str) -> None:
    place = GOAL.rindex(old) if old.startswith("tag") else GOAL.index(old)
    text = GOAL[:place] + new + GOAL[place + len(old) :]
    with pytest.raises(WrongUseError) as caught:
        goal.parse(text, "job.goal")
    assert str(caught.value).startswith("job.goal")
    assert says in str(caught.value)


@given(st.text(alphabet="num_raks 0123{}bl:send\nrecvqui/-*", max_size=200))
def test_any_text_is_goal_or_refused(text: str) -> None:
    with contextlib.suppress(WrongUseError):
        goal.parse(f"num_ranks 2\n{text}", "file")


@given(st.binary(max_size=80), st.integers(0, 200), schedules())
def test_any_bytes_are_a_trace_or_refused(noise: bytes, place: int, schedule: Schedule) -> None:
    first, *others = chakra.files_of(schedule)
    cut = place % (len(first) + 1)
    for hostile in (noise, first[:cut], first[:cut] + noise + first[cut:]):
        with contextlib.suppress(WrongUseError):
            chakra.parse([hostile, *others], [f"{rank}.et" for rank in range(schedule.ranks)])


def test_a_collective_over_all_ranks_becomes_messages() -> None:
    for kind, name in enumerate(chakra.COLLECTIVES):
        node = protobuf.field(1, 1) + protobuf.field(3, 7)
        for key, value in (("comm_type", kind), ("comm_size", 7000)):
            pair = protobuf.field(1, key) + protobuf.field(9, value)
            node += protobuf.field(10, pair)
        content_of_rank = protobuf.add_length(b"") + protobuf.add_length(node)
        found = chakra.parse([content_of_rank] * 7, [f"{rank}.et" for rank in range(7)])
        check(found)
        assert content(goal.parse(goal.to_text(found), "file")) == content(found)
        sent = found.bytes_sent
        expected = {
            "all-reduce": 12 * 7000,
            "all-gather": 6 * 7000,
            "reduce-scatter": 6 * 7000,
            "all-to-all": 6 * 7000,
            "gather": 6 * 1000,
            "scatter": 6 * 1000,
            "broadcast": 6 * 7000,
            "reduce": 6 * 7000,
            "barrier": 12,
        }[name]
        assert sent == expected, name


def a_node(number: int, kind: int, *needs: int, name: str = "", **attributes: int | str) -> bytes:
    """A node of a Chakra trace with these attributes, numbers as int64."""
    node = protobuf.field(1, number) + protobuf.field(2, name) + protobuf.field(3, kind)
    node += protobuf.pack_numbers(5, list(needs))
    for key, value in attributes.items():
        place = 29 if isinstance(value, str) else 9
        node += protobuf.field(10, protobuf.field(1, key) + protobuf.field(place, value))
    return node


def a_trace(*nodes: bytes) -> bytes:
    return b"".join(map(protobuf.add_length, (b"", *nodes)))


def of_groups(*names: str, **more: int) -> list[bytes]:
    """The traces of ranks that each call an all-reduce of 1,000 bytes in their group."""
    return [
        a_trace(a_node(1, 7, comm_type=0, comm_size=1000, pg_name=name, **more)) for name in names
    ]


LABELS = ["0.et", "1.et", "2.et", "3.et"]


@pytest.mark.parametrize("more", [{}, {"group_size": 2}])
def test_a_group_whose_ranks_are_not_known_is_refused(more: dict[str, int]) -> None:
    with pytest.raises(WrongUseError, match="does not say which ranks") as caught:
        chakra.parse(of_groups("1", "1", "2", "2", **more), LABELS)
    assert "comm_group.json" in (caught.value.hint or "")


def between(found: Schedule) -> list[list[float]]:
    check(found)
    return found.bytes_between().tolist()


TWO_PAIRS = [[0, 1000, 0, 0], [1000, 0, 0, 0], [0, 0, 0, 1000], [0, 0, 1000, 0]]


@pytest.mark.parametrize("place", ["comm_group.json", "job.comm_group.json"])
def test_groups_are_read_from_astra_sims_file(place: str, tmp_path: Path) -> None:
    for rank, trace in enumerate(of_groups("1", "1", "2", "2")):
        (tmp_path / f"job.{rank}.et").write_bytes(trace)
    (tmp_path / place).write_text('{"1": [0, 1], "2": [2, 3]}')
    assert between(files.read(str(tmp_path / "job.0.et"))) == TWO_PAIRS
    for wrong in ('{"1": [0, 1], "2": [2, 4]}', '{"1": [0, 0], "2": [2, 3]}', '{"1": 2}', "[]"):
        (tmp_path / place).write_text(wrong)
        with pytest.raises(WrongUseError, match=r"comm_group\.json"):
            files.read(str(tmp_path / "job.0.et"))
    (tmp_path / place).write_text('{"1": [0, 2], "2": [1, 3]}')
    with pytest.raises(WrongUseError, match="rank 1 is not in group '1'"):
        files.read(str(tmp_path / "job.0.et"))


def test_groups_are_read_from_the_node_that_declares_them() -> None:
    said = (
        '[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4}, '
        '{"pg_name": "NAME", "pg_desc": "dp", "ranks": [RANKS], "group_size": 2}]'
    )
    traces = []
    for name, ranks in (("1", "0, 1"), ("1", "0, 1"), ("2", "2, 3"), ("2", "2, 3")):
        text = said.replace("NAME", name).replace("RANKS", ranks).replace('"', '\\"')
        declared = a_node(1, 1, name="## process_group:init ##")
        declared += protobuf.field(8, protobuf.field(1, f'["{text}"]'))
        pair = a_node(2, 7, 1, comm_type=0, comm_size=1000, pg_name=name)
        every = a_node(3, 7, 2, comm_type=9, pg_name="0")
        traces.append(a_trace(declared, pair, every))
    found = chakra.parse(traces, LABELS)
    assert between(found)[0][1] >= 1000
    assert found.bytes_sent == 4 * 1000 + 6


def test_two_groups_of_the_same_ranks_keep_their_messages_apart() -> None:
    """One rank calls them the other way round, which their names tell."""
    groups = {"1": (0, 1), "2": (1, 0)}
    calls = [a_node(n, 7, comm_type=0, comm_size=1000 * n, pg_name=str(n)) for n in (1, 2)]
    found = chakra.parse([a_trace(*calls), a_trace(*reversed(calls))], LABELS[:2], groups)
    assert between(found) == [[0, 3000], [3000, 0]]


@pytest.mark.parametrize("tag", [-1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_tags_that_no_trace_can_have_are_refused(tag: int) -> None:
    rank = a_trace(a_node(1, 5, comm_dst=1, comm_size=1, comm_tag=tag))
    with pytest.raises(WrongUseError, match=r"comm_tag -?\d+, not between 0 and"):
        chakra.parse([rank, a_trace()], ["0", "1"])


def test_collectives_tags_are_those_that_other_forms_can_write() -> None:
    def parse(tag: int) -> Schedule:
        call = a_node(2, 7, comm_type=0, comm_size=1000)
        first = a_trace(a_node(1, 5, comm_dst=1, comm_size=1, comm_tag=tag), call)
        second = a_trace(a_node(1, 6, comm_src=0, comm_size=1, comm_tag=tag), call)
        return chakra.parse([first, second], ["0", "1"])

    found = parse(goal.MAX_TAG - 100)
    assert content(goal.parse(goal.to_text(found), "file")) == content(found)
    with pytest.raises(WrongUseError, match="no room"):
        parse(goal.MAX_TAG)


def test_a_collective_without_a_type_is_left_out_with_a_note() -> None:
    """The CPU's side of a broadcast is no all-reduce of 0 bytes."""
    cpu = a_node(1, 7, is_cpu_op=1)
    gpu = a_node(2, 7, 1, comm_type=5, comm_size=1000)
    found = chakra.parse([a_trace(cpu, gpu)] * 2, LABELS[:2])
    assert between(found) == [[0, 1000], [0, 0]]
    assert any(note.startswith("2 nodes") and "comm_type" in note for note in found.notes)


def test_a_dependency_on_a_missing_node_is_dropped_with_a_note() -> None:
    found = chakra.parse([a_trace(a_node(5, 4, 3), a_node(6, 4, 5))], LABELS[:1])
    assert (found.before.tolist(), found.after.tolist()) == ([0], [1])
    assert any("not there" in note for note in found.notes)


def test_a_collective_without_a_size_is_refused() -> None:
    with pytest.raises(WrongUseError, match="without comm_size"):
        chakra.parse([a_trace(a_node(1, 7, comm_type=5))] * 2, LABELS[:2])
    assert chakra.parse([a_trace(a_node(1, 7, comm_type=9))] * 2, LABELS[:2]).bytes_sent == 2


def test_ranks_that_call_other_collectives_are_refused() -> None:
    traces = of_groups("0", "0")
    traces[1] = a_trace(a_node(1, 7, comm_type=0, comm_size=999, pg_name="0"))
    with pytest.raises(WrongUseError, match="ranks 0 and 1 of the trace call different"):
        chakra.parse(traces, LABELS[:2])
    with pytest.raises(WrongUseError, match="call different"):
        chakra.parse([traces[0], a_trace()], LABELS[:2])


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
@pytest.mark.parametrize("collective", sorted(set(chakra.COLLECTIVES)))
def test_steps_of_all_ranks_match(collective: str, ranks: int) -> None:
    sent: dict[tuple[int, int, int, int], int] = {}
    for rank in range(ranks):
        for step in collective_steps(collective, rank, ranks, ranks * 10):
            for is_send, peer, size in step.messages:
                key = (step.number, *((rank, peer) if is_send else (peer, rank)), size)
                sent[key] = sent.get(key, 0) + (1 if is_send else -1)
    assert not any(sent.values())


def test_missing_and_other_files_are_refused(tmp_path: Path) -> None:
    for name, text in (("a.goal", "hello"), ("b.goal", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(WrongUseError, match="is no trace"):
            files.read(str(tmp_path / name))
    with pytest.raises(WrongUseError, match=r"there is no .*job\.0\.et beside it"):
        files.read(str(tmp_path / "job.3.et"))
    with pytest.raises(PlinkError):
        files.read(str(tmp_path / "nothing"))
    with pytest.raises(WrongUseError, match="a file for every rank"):
        files.write("chakra", "-", goal.parse(GOAL, "file"))


def test_the_encoder_writes_what_protobuf_writes() -> None:
    """MLCommons' definition, of which traces of messages need this much, in Google's library."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    message_factory = pytest.importorskip("google.protobuf.message_factory")
    descriptor_pool = pytest.importorskip("google.protobuf.descriptor_pool")
    kinds = descriptor_pb2.FieldDescriptorProto
    definition = descriptor_pb2.FileDescriptorProto(
        name="et.proto", package="ChakraProtoMsg", syntax="proto3"
    )

    def message(name: str, *fields: tuple[str, int, int, int, str]) -> None:
        found = definition.message_type.add(name=name)
        for field, number, kind, label, of in fields:
            added = found.field.add(name=field, number=number, type=kind, label=label)
            if of:
                added.type_name = f".ChakraProtoMsg.{of}"
            if field.endswith("_val"):
                added.oneof_index = 0
        if any(field.endswith("_val") for field, *_ in fields):
            found.oneof_decl.add(name="value")

    one, many = kinds.LABEL_OPTIONAL, kinds.LABEL_REPEATED
    message("GlobalMetadata", ("version", 1, kinds.TYPE_STRING, one, ""))
    message(
        "AttributeProto",
        ("name", 1, kinds.TYPE_STRING, one, ""),
        ("int32_val", 7, kinds.TYPE_INT32, one, ""),
        ("int64_val", 9, kinds.TYPE_INT64, one, ""),
        ("bool_val", 27, kinds.TYPE_BOOL, one, ""),
    )
    message(
        "Node",
        ("id", 1, kinds.TYPE_UINT64, one, ""),
        ("name", 2, kinds.TYPE_STRING, one, ""),
        ("type", 3, kinds.TYPE_INT32, one, ""),
        ("ctrl_deps", 4, kinds.TYPE_UINT64, many, ""),
        ("data_deps", 5, kinds.TYPE_UINT64, many, ""),
        ("duration_micros", 7, kinds.TYPE_UINT64, one, ""),
        ("attr", 10, kinds.TYPE_MESSAGE, many, "AttributeProto"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(definition)
    of = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}"))
        for name in ("GlobalMetadata", "Node")
    }
    schedule = goal.parse(GOAL, "file")
    contents = list(chakra.files_of(schedule))
    metadata, *nodes = protobuf.messages_of(contents[0])
    assert of["GlobalMetadata"].FromString(metadata).version == chakra.VERSION
    send, compute = (of["Node"].FromString(node) for node in nodes)
    assert (send.id, send.type, list(send.data_deps)) == (1, 5, [])
    values = {each.name: each.int64_val or each.int32_val for each in send.attr}
    assert values["comm_size"] == 1000
    assert (values["comm_src"], values["comm_dst"], values["comm_tag"]) == (0, 1, 7)
    assert (compute.type, compute.duration_micros, list(compute.data_deps)) == (4, 1, [1])
    # And what Google's library writes is read here.
    again = []
    for one_file in contents:
        first, *rest = protobuf.messages_of(one_file)
        messages = [of["GlobalMetadata"].FromString(first), *map(of["Node"].FromString, rest)]
        again.append(b"".join(protobuf.add_length(one.SerializeToString()) for one in messages))
    assert content(chakra.parse(again, ["0", "1"])) == content(schedule)


@pytest.mark.parametrize("tag", [0, (1 << 31) - 1, 1 << 31, goal.MAX_TAG])
def test_every_tag_comes_back(tag: int) -> None:
    schedule = goal.parse(GOAL.replace("tag 7", f"tag {tag}"), "file")
    assert tag in schedule.tag.tolist()
    assert content(chakra.parse(list(chakra.files_of(schedule)), ["0", "1"])) == content(schedule)


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_numbers_come_back(number: int) -> None:
    found, end = protobuf.read_varint(protobuf.varint(number), 0)
    assert end == len(protobuf.varint(number))
    assert found == number & ((1 << 64) - 1)
    if number < 1 << 63:
        assert protobuf.to_signed(found) == number
