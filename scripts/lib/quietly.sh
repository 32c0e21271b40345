# shellcheck shell=bash
# Long commands whose output nobody wants to read: what they do is told in few words. Needs say.sh.

# How often there is a line where standard error is no terminal.
SECONDS_A_LINE=${SECONDS_A_LINE:-6}

# run_quietly WHAT COMMAND...: the command's output is shown only when it fails.
run_quietly() {
    local what=$1 log status=0
    shift
    log=$(mktemp)
    telling_progress "$what" "$log" "$@" || status=$?
    if ((status != 0)); then
        tail -n 40 "$log" >&2
    fi
    rm -f "$log"
    return "$status"
}

# telling_progress WHAT LOG COMMAND...: the command writes to LOG. Meanwhile there is a line every
# few seconds, or on a terminal one that changes, with the time and the last that the command wrote.
telling_progress() {
    local what=$1 log=$2 teller status=0 started=$SECONDS
    shift 2
    say "$what"
    tell_progress "$log" </dev/null >/dev/null &
    teller=$!
    # In front, because Ctrl-C does not reach what a script runs behind.
    "$@" </dev/null >"$log" 2>&1 || status=$?
    kill "$teller" 2>/dev/null || true
    wait "$teller" 2>/dev/null || true
    [[ ! -t 2 ]] || printf '\r\e[K' >&2
    if ((status == 0 && SECONDS - started >= SECONDS_A_LINE)); then
        say "  done in $((SECONDS - started)) s"
    fi
    return "$status"
}

# tell_progress LOG: until it is killed, or this script is no more.
tell_progress() {
    local log=$1 began=$SECONDS told=$SECONDS
    while kill -0 "$$" 2>/dev/null; do
        # It may outlive this by a second, and whoever reads our messages must not wait for it.
        sleep 1 2>/dev/null
        if [[ -t 2 ]]; then
            printf '\r\e[K%s' "$(progress_line "$log" $((SECONDS - began)) "${COLUMNS:-80}")" >&2
        elif ((SECONDS - told >= SECONDS_A_LINE)); then
            told=$SECONDS
            say "$(progress_line "$log" $((SECONDS - began)) 100)"
        fi
    done
}

# progress_line LOG SECONDS COLUMNS: as much as fits of the last line that says anything.
progress_line() {
    local log=$1 line
    line=$(tail -n 20 "$log" | tr -dc '[:print:]\n' | sed 's/^ *//; /^$/d; /^WARNING:/d' |
        tail -n 1)
    line="  $2 s  $line"
    printf '%s' "${line:0:$(($3 - 1))}"
}
