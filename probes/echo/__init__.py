"""Echo tool: plink's own UDP agent on every host."""

from pathlib import Path

ECHO_AGENT_FILE = Path(__file__).parent / "bin" / "plink-echo-agent"
