#!/usr/bin/env bash
# install_hashed.sh REQUIREMENT...: into the Python on the path, every file by its hash in hashes.txt.
# pip chooses first, without installing, since what is asked for may be a wheel of ours.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python "$ROOT/scripts/lib/hashed.py" pins >"$folder/pins.txt"
python -m pip install --dry-run --ignore-installed --only-binary :all: \
    --report "$folder/chosen.json" -c "$ROOT/constraints.txt" -c "$folder/pins.txt" "$@"
python "$ROOT/scripts/lib/hashed.py" requirements "$folder/chosen.json" >"$folder/hashed.txt"
python -m pip install --no-compile --no-deps --require-hashes --only-binary :all: \
    -r "$folder/hashed.txt"
