"""The groups as a table, how sure they are, and the tree that they are cut from."""

from __future__ import annotations

from plink.files.cluster import Cluster
from plink.model.network import capacity
from plink.show.page.parts import Paragraph, Part, Section, Table
from plink.show.page.subject import Subject
from plink.show.page.tree import dendrogram
from plink.show.terminal.groups import HEADER, group_rows, grouping_lines
from plink.show.terminal.uplinks import HEADER as UPLINK_HEADER
from plink.show.terminal.uplinks import uplink_rows

_LEAST_HOSTS = 3


def groups_section(subject: Subject) -> Section | None:
    """Groups and their uplinks, and the dendrogram of the distances."""
    cluster = subject.cluster
    if cluster is None:
        return None
    parts: list[Part] = [*_groups(cluster), *_uplinks(cluster)]
    if subject.distances is not None and len(subject.names) >= _LEAST_HOSTS:
        parts.append(dendrogram(subject, subject.distances.matrix_us))
    return Section("groups", "Groups", parts)


def _groups(cluster: Cluster) -> list[Part]:
    if not cluster.groups:
        looked = cluster.grouping is not None
        return [
            Paragraph(
                "plink group found no groups that are apart from each other."
                if looked
                else "No groups are known yet; plink group finds them."
            )
        ]
    parts: list[Part] = [
        Table(
            "Groups, and how far their hosts are from each other and from the nearest other group",
            HEADER,
            group_rows(cluster, capacity(cluster, cluster.groups)),
            numbers=range(1, len(HEADER) - 1),
        )
    ]
    if cluster.grouping is not None:
        lines = grouping_lines(cluster, cluster.grouping)
        parts += [Paragraph(_sentence(line)) for line in lines]
        parts += [Paragraph(_sentence(note), is_note=True) for note in cluster.grouping.notes]
    return parts


def _uplinks(cluster: Cluster) -> list[Part]:
    if cluster.uplinks is None:
        if not cluster.groups:
            return []
        return [
            Paragraph(
                "Uplinks were not measured: what groups can exchange with each other is not known."
            )
        ]
    return [
        Table(
            "What all hosts of a group together exchange with other groups",
            UPLINK_HEADER,
            uplink_rows(cluster),
            numbers=range(1, len(UPLINK_HEADER)),
        )
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
