"""Where the echo agent is installed, for whoever runs it on this very host."""

from pathlib import Path

ECHO_AGENT_FILE = Path(__file__).parent / "bin" / "plink-echo-agent"
