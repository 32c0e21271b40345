# shellcheck shell=bash
# The system packages that a script needs, found by what they provide, so that tools which came
# some other way count too. Needs say.sh and quietly.sh.

# group: command:package ...
declare -A NEEDED_COMMANDS=(
    [build]="g++:g++ make:make cmake:cmake"
    [lab]="ip:iproute2 tc:iproute2 sshd:openssh-server ssh:openssh-client ssh-keygen:openssh-client
        hostname:hostname mount:mount"
    # What `plink probe` runs on hosts.
    [tools]="fping:fping iperf3:iperf3"
    [mpi]="mpirun.openmpi:openmpi-bin mpicc.openmpi:libopenmpi-dev mpirun.mpich:mpich
        mpicc.mpich:libmpich-dev"
    [check]="shellcheck:shellcheck"
)

# What adds a tool or TLS to plink where this system has it, found by what pkg-config knows; nothing
# else needs it. group: module:package ...
declare -A WANTED_MODULES=(
    [native]="libdpdk:libdpdk-dev libssl:libssl-dev"
)

# Libraries that some systems lack, by a header of theirs; their tests are then skipped.
# group: header:package ...
declare -A WANTED_HEADERS=(
    [simgrid]="/usr/include/simgrid/s4u.hpp:libsimgrid-dev"
)

# Peers that some systems lack; their tests are then skipped. group: command:package ...
declare -A WANTED_COMMANDS=(
    [slurm]="slurmctld:slurmctld slurmd:slurmd srun:slurm-client"
    [redis]="redis-server:redis-server"
    [shells]="zsh:zsh fish:fish"
    [man]="man:man-db groff:groff mandoc:mandoc"
    [containers]="podman:podman runc:runc busybox:busybox-static"
    [kubernetes]="kubectl:kubernetes-client"
    # Debian alone has this one: elsewhere a browser comes some other way.
    [browser]="chromium-headless-shell:chromium-headless-shell"
)

# missing_packages PYTHON GROUP...: one package per line.
missing_packages() {
    local python=$1 group entry
    shift
    {
        for group; do
            for entry in ${NEEDED_COMMANDS[$group]:-}; do
                command -v "${entry%%:*}" >/dev/null || printf '%s\n' "${entry#*:}"
            done
        done
        missing_python_packages "$python"
    } | sort -u
}

# wanted_packages GROUP...: one package per line.
wanted_packages() {
    local group entry
    for group; do
        for entry in ${WANTED_MODULES[$group]:-}; do
            pkg-config --exists "${entry%%:*}" 2>/dev/null || printf 'pkg-config\n%s\n' "${entry#*:}"
        done
        for entry in ${WANTED_HEADERS[$group]:-}; do
            [[ -e ${entry%%:*} ]] || printf '%s\n' "${entry#*:}"
        done
        for entry in ${WANTED_COMMANDS[$group]:-}; do
            command -v "${entry%%:*}" >/dev/null || printf '%s\n' "${entry#*:}"
        done
    done | sort -u
}

# install_wanted RECORD GROUP...: tries each group once, as RECORD says, and continues if that
# fails.
install_wanted() {
    local record=$1 packages group tried
    shift
    tried=$(cat "$record" 2>/dev/null || true)
    for group; do
        packages=$(wanted_packages "$group")
        if [[ -n $packages && " $tried " != *" $group "* ]]; then
            printf '%s ' "$group" >>"$record"
            install_or_go_on "$packages"
        fi
    done
}

# install_or_go_on PACKAGES: one per line.
install_or_go_on() {
    # shellcheck disable=SC2086  # one word a package
    try_packages $1 ||
        say "continuing without ${1//$'\n'/ and }: what needs them is left out"
}

# try_packages PACKAGE...: install them; a failure is not told.
try_packages() {
    local log status=0
    command -v apt-get >/dev/null && may_install || return 1
    log=$(mktemp)
    telling_progress "installing $* ($(how_installed))" "$log" as_root apt_install "$@" || status=1
    rm -f "$log"
    return "$status"
}

# Debian keeps ensurepip and the headers of its own Python in packages of their own.
missing_python_packages() {
    local lacks
    lacks=$("$1" - <<'PYTHON'
import importlib.util, pathlib, sys, sysconfig

python = f"python{sys.version_info.major}.{sys.version_info.minor}"
if not all(map(importlib.util.find_spec, ["venv", "ensurepip"])):
    print(f"{python}-venv")
if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
    print(f"{python}-dev")
PYTHON
    )
    if [[ -n $lacks && $("$1" -c 'import sys; print(sys.base_prefix)') != /usr ]]; then
        die "$1 lacks what ${lacks//$'\n'/ and } brings on Debian, and it is not Debian's Python" \
            "set PYTHON to another Python 3.10 or later"
    fi
    [[ -z $lacks ]] || printf '%s\n' "$lacks"
}

# install_packages PACKAGE...: with apt-get, as root or through sudo where it asks no password.
install_packages() {
    local command="apt-get install --no-install-recommends -y $*"
    if ! command -v apt-get >/dev/null; then
        die "these packages are missing and there is no apt-get to install them: $*" \
            "install what corresponds to them on this system, then run this again"
    fi
    if may_install; then
        run_quietly "installing $* ($(how_installed))" as_root apt_install "$@" ||
            die "apt-get could not install $*"
    else
        die "these packages are missing and only root may install them: $*" "run: sudo $command"
    fi
}

may_install() {
    ((EUID == 0)) || sudo -n true 2>/dev/null
}

how_installed() {
    if ((EUID == 0)); then echo apt-get; else echo sudo apt-get; fi
}

# as_root FUNCTION ARGUMENT...: as root, or through a sudo that asks no password.
as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo -n bash -c "$(declare -f "$1"); \"\$@\"" "$1" "$@"
    fi
}

# As root. A server among the packages is installed but not started: nothing here needs it running,
# and it would open a port on this machine. Debian asks policy-rc.d before it starts a service.
apt_install() (
    set -e
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' INT TERM
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update || true # the lists that are there may do
    apt-get install --no-install-recommends -y "$@"
)
