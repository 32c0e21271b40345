"""Names that hosts may have, drawn at random."""

from __future__ import annotations

from hypothesis import strategies as st

from plink.probes.hosts.hostlist import is_host_name

_LABELS = st.text("abcXYZ0189_-", min_size=1, max_size=6)
HOST_NAMES = st.one_of(
    st.lists(_LABELS, min_size=1, max_size=3).map(".".join).filter(is_host_name),
    st.ip_addresses().map(str),
)
