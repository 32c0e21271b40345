# shellcheck shell=bash
# Sourced by the scripts: `set_up GROUP...` installs what this machine lacks of the named groups of
# system packages, and plink with all its extras into .venv. It is quick where that was done before.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VENV="$ROOT/.venv"
# sbin is not on an ordinary user's path, and sshd, ip and tc live there.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
# Without PYTHONDONTWRITEBYTECODE the tests are compiled once and not by every worker of every run,
# nor the lab by every command.
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
# Ninja builds on all processors by itself, make only when told so.
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 1)}
# What was compiled in another checkout, or before a `git clean`, need not be compiled again.
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$ROOT} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-yes}
fi
# In the pinned versions; requirements, where that is asked for, with hashes of every file as well.
PIP_INSTALL=("$VENV/bin/python" -m pip install --no-compile -c "$ROOT/constraints.txt")
INSTALL_REQUIREMENTS=("${PIP_INSTALL[@]}")
if [[ -n ${PLINK_REQUIRE_HASHES:-} ]]; then
    INSTALL_REQUIREMENTS=(env "PATH=$VENV/bin:$PATH" "$ROOT/scripts/lib/install_hashed.sh")
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

# shellcheck source=scripts/lib/say.sh
. "$ROOT/scripts/lib/say.sh"
# shellcheck source=scripts/lib/quietly.sh
. "$ROOT/scripts/lib/quietly.sh"
# shellcheck source=scripts/lib/packages.sh
. "$ROOT/scripts/lib/packages.sh"

# What is installed with plink; a script that does with less says so before `set_up`.
EXTRAS=dask,dev,docs,exact,metrics,ray,redis,torch,torchft,trace

set_up() {
    local python packages
    python=$(choose_python) || exit 1
    packages=$(missing_packages "$python" "$@") || exit 1
    if [[ -n $packages ]]; then
        # shellcheck disable=SC2086  # one word a package
        install_packages $packages
    fi
    mkdir -p "$ROOT/build"
    install_wanted "$ROOT/build/.wanted-packages-tried" "$@"
    # Two scripts at the same time must not install into one environment.
    exec {lock}>"$ROOT/build/.setup-lock"
    flock "$lock"
    install_plink "$python"
    exec {lock}>&-
    export PATH="$VENV/bin:$PATH"
}

# The Python to build with: $PYTHON, else that of .venv, else the first suitable one on the path.
choose_python() {
    local candidate
    if [[ -n ${PYTHON:-} ]]; then
        command -v "$PYTHON" >/dev/null || die "PYTHON=$PYTHON is not a command"
        is_recent "$PYTHON" || die "PYTHON=$PYTHON is not Python 3.10 or later"
        executable "$PYTHON"
        return
    fi
    if [[ -f $VENV/plink-python ]]; then
        candidate=$(<"$VENV/plink-python")
        if is_recent "$candidate"; then
            echo "$candidate"
            return
        fi
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
        if is_recent "$candidate"; then
            executable "$candidate"
            return
        fi
    done
    die "there is no Python 3.10 or later on the path" \
        "install one (Debian 12, Ubuntu 22.04 and later: apt-get install python3) or set PYTHON"
}

# Without the wrappers of version managers, which answer differently in another folder.
executable() {
    "$1" -c 'import sys; print(sys.executable)'
}

is_recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

# Not editable, so that what runs is what was built. Done again only when the Python, the sources
# or the pins changed.
install_plink() {
    local python=$1 identity sources extras packages
    identity=$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')
    sources=$(hash_of_sources)
    if [[ "$(recorded identity)" != "$identity" ]]; then
        make_venv "$python" "$identity"
    fi
    extras=$(with_installed "$EXTRAS")
    if [[ "$(recorded sources)" == "$sources" && "$(recorded extras)" == "$extras" ]]; then
        return
    fi
    rm -f "$VENV/plink-sources"
    packages="$extras $(cat "$ROOT/pyproject.toml" "$ROOT/constraints.txt" | sha256sum)"
    if [[ "$(recorded packages)" != "$packages" ]]; then
        rm -f "$VENV/plink-packages"
        pip_install_build_tools
        if [[ ,$extras, == *,torch,* ]] && [[ -z ${PLINK_REQUIRE_HASHES:-} ]]; then
            pip_install_torch
        fi
        start_installing_packages "$extras"
    fi
    build_wheel || die "pip could not build plink"
    if [[ "$(recorded packages)" != "$packages" ]]; then
        await_packages "$extras"
        printf '%s\n' "$packages" >"$VENV/plink-packages"
    fi
    # By force, because its version is that of what may be there.
    pip_install "installing plink into .venv" --no-index --no-deps --force-reinstall \
        "$ROOT"/build/wheel/*.whl || die "pip could not install plink"
    printf '%s\n' "$extras" >"$VENV/plink-extras"
    printf '%s\n' "$sources" >"$VENV/plink-sources"
}

# The wheel stays in build/wheel, where it is tried on a bare machine (tests/setup/test_wheel.py).
# Its native parts take two minutes of a processor.
build_wheel() {
    rm -rf "$ROOT/build/wheel"
    run_quietly "building plink" "$VENV/bin/python" -m pip wheel --no-deps --no-build-isolation \
        --wheel-dir "$ROOT/build/wheel" "$ROOT"
}

# start_installing_packages EXTRAS: what plink needs, beside the build, for most of pip's time goes
# into unpacking on one processor.
start_installing_packages() {
    PACKAGES_LOG=$(mktemp)
    "$VENV/bin/python" "$ROOT/scripts/lib/requirements.py" "$1" >"$VENV/plink-requirements"
    "${INSTALL_REQUIREMENTS[@]}" -r "$VENV/plink-requirements" </dev/null >>"$PACKAGES_LOG" 2>&1 &
    INSTALLING=$!
    trap 'kill "$INSTALLING" 2>/dev/null || true' EXIT
}

await_packages() {
    if ! telling_progress "installing what plink needs with ${1//,/, } into .venv" \
        "$PACKAGES_LOG" wait "$INSTALLING"; then
        tail -n 40 "$PACKAGES_LOG" >&2
        die "pip could not install what plink needs"
    fi
    trap - EXIT
    rm -f "$PACKAGES_LOG"
}

# pip_install WHAT ARGUMENT...
pip_install() {
    run_quietly "$1" "${PIP_INSTALL[@]}" "${@:2}"
}

# install_requirements WHAT REQUIREMENT...
install_requirements() {
    run_quietly "$1" "${INSTALL_REQUIREMENTS[@]}" "${@:2}"
}

# Without build isolation the build tools are the pinned ones, and are fetched once. What is never
# imported need not be compiled, which would take longer than all the rest.
pip_install_build_tools() {
    install_requirements \
        "installing the build tools into .venv" scikit-build-core nanobind click msgspec ||
        die "pip could not install the build tools"
}

# The build for CPUs where there is no GPU and pip finds that build; otherwise what pip prefers.
pip_install_torch() {
    local version wanted size='about 1 GB'
    version=$(sed -n 's/^torch==//p' "$ROOT/constraints.txt")
    wanted="torch==$version"
    if compgen -G "$VENV/lib/python3*/site-packages/torch/version.py" >/dev/null; then
        return
    fi
    if ! has_gpu; then
        if pip_finds torch "$version+cpu"; then
            wanted+=+cpu
        elif [[ $(uname -m) == x86_64 ]]; then
            size='with CUDA, some 6 GB'
            say "note: pip finds no CPU build of PyTorch $version, and the default build brings CUDA"
            say "${CYAN}hint:${PLAIN} to save that, stop this, set PIP_EXTRA_INDEX_URL to the index" \
                "that PyTorch's installation page shows for Linux, pip and CPU, and start again"
        fi
    fi
    pip_install "installing PyTorch into .venv ($size on disk)" "$wanted" ||
        die "pip could not install PyTorch"
}

# pip_finds PACKAGE VERSION
pip_finds() {
    local log status=0
    log=$(mktemp)
    telling_progress "looking for $1 $2" "$log" "$VENV/bin/python" -m pip index versions "$1" || true
    grep -qF "$2" "$log" || status=1
    rm -f "$log"
    return "$status"
}

has_gpu() {
    command -v nvidia-smi >/dev/null || [[ -e /dev/nvidia0 ]]
}

# Extras and those that another script has installed, in the order of the alphabet: what needs few
# takes nothing from what needs many.
with_installed() {
    printf '%s,%s' "$1" "$(recorded extras)" | tr ',' '\n' | sed '/^$/d' | LC_ALL=C sort -u |
        paste -sd ,
}

# Python compiles a module when it is first imported: once here, not on every host of a lab at once.
warm_up() {
    local modules='scipy.optimize, paramiko'
    [[ $EXTRAS != *dev* ]] || modules+=', sklearn.cluster'
    [[ $EXTRAS != *torch* ]] || modules+=', torch.distributed.run, torch.nn.parallel'
    [[ "$(recorded warm)" != "$modules" ]] || return 0
    run_quietly "compiling the largest packages" "$VENV/bin/python" -c "import $modules"
    printf '%s\n' "$modules" >"$VENV/plink-warm"
}

recorded() {
    cat "$VENV/plink-$1" 2>/dev/null || true
}

make_venv() {
    local python=$1 identity=$2
    if [[ -e $VENV && ! -f $VENV/plink-python ]]; then
        die "$VENV was not made by these scripts" "move it out of the way"
    fi
    rm -rf "$VENV"
    mkdir "$VENV"
    printf '%s\n' "$python" >"$VENV/plink-python"
    run_quietly "making .venv with $python" "$python" -m venv "$VENV" ||
        die "$python could not make a virtual environment in $VENV"
    printf '%s\n' "$identity" >"$VENV/plink-identity"
}

# The place counts too: an environment cannot be moved. So do DPDK, with which there is one more
# program to build, and OpenSSL, with which there is TLS.
hash_of_sources() {
    (
        cd "$ROOT"
        pwd
        pkg-config --modversion libdpdk 2>/dev/null || true
        pkg-config --modversion libssl 2>/dev/null || true
        find pyproject.toml CMakeLists.txt constraints.txt plink probes solvers \
            -name __pycache__ -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    ) | sha256sum | cut -d ' ' -f 1
}
