"""A worker that writes down who it is, once per attempt, and does as files in a folder say."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])
host = socket.gethostname()
names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE")
said = {"host": host, **{name: os.environ[name] for name in names}}
said["members_change"] = os.environ.get("PLINK_MEMBERS_CHANGE")
part = folder / f"{os.getpid()}-{host}.part"
part.write_text(json.dumps(said))
part.rename(part.with_suffix(".json"))
fail = folder / f"fail-{host}"
while not (folder / "done").exists():
    if fail.exists():
        fail.unlink()
        sys.exit(1)
    time.sleep(0.1)
