"""The plotting library that a report carries: plotly.js, as the Python package brings it."""

from __future__ import annotations

from plink.base.errors import PlinkError


def plotly_js() -> str:
    """The library's JavaScript (MIT), all of it, to stand in the page.

    Raises:
        PlinkError: the package is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415  an optional extra
    except ImportError:
        raise PlinkError(
            "plink report needs plotly, which is not installed",
            "pip install 'plink-collectives[report]' or pip install plotly",
        ) from None
    text: str = get_plotlyjs()
    return text
