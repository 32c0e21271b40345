# shellcheck shell=bash
# The scripts' messages to the user, on standard error.

if [[ -t 2 && -z ${NO_COLOR:-} ]]; then
    BOLD=$'\e[1m' RED=$'\e[31m' CYAN=$'\e[36m' PLAIN=$'\e[0m'
else
    BOLD='' RED='' CYAN='' PLAIN=''
fi

say() {
    printf '%s\n' "$*" >&2
}

# die SENTENCE [HINT]
die() {
    printf '%s\n' "${RED}error:${PLAIN} $1" >&2
    if [[ -n ${2:-} ]]; then
        printf '%s\n' "${CYAN}hint:${PLAIN} $2" >&2
    fi
    exit 1
}

# Print a command as a person would type it, on standard output, then run it.
show_and_run() {
    printf '\n%s\n' "${BOLD}\$ $(quoted "$@")${PLAIN}"
    "$@"
}

quoted() {
    local word line=''
    for word; do
        if [[ $word =~ ^[A-Za-z0-9_./:,=@%+-]+$ ]]; then
            line+=" $word"
        else
            line+=" ${word@Q}"
        fi
    done
    printf '%s' "${line:1}"
}

# run_quietly WHAT COMMAND...: the command's output is shown only when it fails.
run_quietly() {
    local what=$1 log status=0
    shift
    say "$what"
    log=$(mktemp)
    "$@" </dev/null >"$log" 2>&1 || status=$?
    if ((status != 0)); then
        tail -n 40 "$log" >&2
    fi
    rm -f "$log"
    return "$status"
}
