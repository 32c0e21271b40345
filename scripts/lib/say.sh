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
