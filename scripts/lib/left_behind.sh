# shellcheck shell=bash
# What a run of the tests left behind. A process that descends from run R has PLINK_TEST_RUN=R in
# its environment: by inheritance, and where sshd, which passes nothing on, stands in between,
# because the labs of the tests set it in every session. The labs of a test run are named after its
# process: t1234-1 (tests/support/lab.py does both).

# The network namespaces of such labs whose test run has ended.
orphaned_namespaces() {
    local name run
    ip netns list 2>/dev/null | cut -d ' ' -f 1 | sort | while read -r name; do
        run=${name#plink.t}
        run=${run%%-*}
        if [[ $name == plink.t* && $run =~ ^[0-9]+$ && ! -e /proc/$run ]]; then
            printf '%s\n' "$name"
        fi
    done
}

# The environment of a process is /proc/PID/environ, each variable closed by a NUL.
# Only root may read that of an echo agent, which hides it from other users.
# A process that ended meanwhile is not an error.
processes_of() {
    local found
    found=$(grep -lzxsF "PLINK_TEST_RUN=$1" /proc/[0-9]*/environ || true)
    [[ -z $found ]] || cut -d / -f 3 <<<"$found"
}

# left_behind RUN NAMESPACES-BEFORE: one line per thing that should be gone.
left_behind() {
    local pid
    for pid in $(processes_of "$1"); do
        printf 'process %s: %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
    done
    comm -13 <(printf '%s\n' "$2") <(orphaned_namespaces) | sed 's/^/network namespace /'
}

# left_behind_for_good RUN NAMESPACES-BEFORE: the same, but waits some seconds for what is still ending.
left_behind_for_good() {
    local left wait_s
    for wait_s in 0.2 1 2 0; do
        left=$(left_behind "$@")
        if [[ -z $left ]]; then
            return
        fi
        sleep "$wait_s"
    done
    printf '%s\n' "$left"
}
