"""Path of the installed echo agent on this host."""

from pathlib import Path

ECHO_AGENT_FILE = Path(__file__).parent / "bin" / "plink-echo-agent"
