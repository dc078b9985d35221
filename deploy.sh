#!/usr/bin/env bash
# Mastio: bring the appliance up and take it down. Verbs only; the logic is in `mastio`.
#   ./deploy.sh [up|restart|down|status|logs|unlink] [--native|--compose] [--demo] [--data DIR] [--port N]
#               [--public-url URL] [--workers N] [--redact|--no-redact] [--database URL] [--config FILE] [--no-link]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv="$here/.venv"
verb=up
mode=""
data=data
options=()
link=yes
bin=${MASTIO_BIN:-$([ "$(id -u)" = 0 ] && echo /usr/local/bin || echo "${HOME:-}/.local/bin")}

fail() {
    echo "mastio: $1 $2" >&2
    exit 2
}

usage() {
    sed -n '2,4s/^# \{0,1\}//p' "$here/deploy.sh"
}

parse() {
    case "${1:-}" in
        up | restart | down | status | logs | unlink)
            verb=$1
            shift
            ;;
        -h | --help | help)
            usage
            exit 0
            ;;
        "" | -*) ;;
        *) fail "There is no verb $1." "Use up, restart, down, status, logs or unlink." ;;
    esac
    while [ $# -gt 0 ]; do
        case "$1" in
            --native | --compose) mode=${1#--} ;;
            -h | --help)
                usage
                exit 0
                ;;
            --demo | --redact | --no-redact) options+=("$1") ;;
            --no-link) link="" ;;
            --data | --port | --public-url | --workers | --database | --config)
                [ $# -ge 2 ] || fail "$1 needs a value." "See ./deploy.sh --help."
                options+=("$1" "$2")
                [ "$1" != --data ] || data=$2
                shift
                ;;
            *) fail "There is no option $1." "See ./deploy.sh --help." ;;
        esac
        shift
    done
}

# --- native ---------------------------------------------------------------------------------------------------------

find_python() {
    local name
    for name in python3.13 python3.12 python3.11 python3; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
}

find_nginx() {
    PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx || true
}

# Install what is missing from the distribution, saying each thing; nothing is changed when that is not possible.
install_missing() {
    local missing=()
    [ -n "$(find_python)" ] || missing+=(python3 python3-venv)
    [ -n "$(find_nginx)" ] || missing+=(nginx)
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        fail "Missing on this machine: ${missing[*]}." "Install Python 3.11 or newer with venv, and nginx."
    [ "$(id -u)" = 0 ] || fail "Missing on this machine: ${missing[*]}." "Run once as root: apt-get install ${missing[*]}"
    echo "mastio: installing from the distribution: ${missing[*]}" >&2
    # The distribution's nginx would start a server of its own on port 80.
    # An operator's own policy decides instead, and stays as it is.
    local policy=/usr/sbin/policy-rc.d ours=""
    if [ ! -e "$policy" ] && [ ! -L "$policy" ]; then
        ours=yes
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    {
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
    } >/dev/null || fail "The distribution's packages could not be installed." "Install them by hand: ${missing[*]}"
    if [ -n "$ours" ]; then
        rm -f "$policy"
        trap - EXIT
    fi
}

# The virtual environment is made anew only when what is pinned has changed.
ensure_venv() {
    local pins
    pins=$(cat "$here/requirements.lock" "$here/pyproject.toml" "$here/client/pyproject.toml" | sha256sum | cut -d' ' -f1)
    [ "$(cat "$venv/.pins" 2>/dev/null)" != "$pins" ] || return 0
    echo "mastio: installing the hash-pinned Python packages into .venv" >&2
    local python
    python=$(find_python)
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || fail "The virtual environment cannot be made." "Check $here."
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.lock" ||
        fail "The pinned Python packages could not be installed." "Check that the package index can be reached."
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        -e "$here/client" -e "$here" ||
        fail "Mastio could not be installed." "See the lines above."
    echo "$pins" >"$venv/.pins"
}

# The command `mastio` on the PATH: a link to the one of this folder, unless something else has its name there.
link_command() {
    if ! is_linked && { [ -e "$bin/mastio" ] || [ -L "$bin/mastio" ]; }; then
        told="$bin/mastio is something else and stays. The command is $venv/bin/mastio"
    elif ! is_linked && ! { mkdir -p "$bin" && ln -s "$venv/bin/mastio" "$bin/mastio"; } 2>/dev/null; then
        told="There can be no link in $bin. The command is $venv/bin/mastio"
    else
        told="The command mastio is $bin/mastio; ./deploy.sh unlink removes it."
        case ":$PATH:" in *":$bin:"*) ;; *) told+=" To find it: export PATH=\"$bin:\$PATH\"" ;; esac
    fi
}

is_linked() {
    [ "$(readlink "$bin/mastio" || true)" = "$venv/bin/mastio" ]
}

unlink_command() {
    is_linked || { echo "There is no link to $venv/bin/mastio in $bin." && return; }
    rm "$bin/mastio" || fail "$bin/mastio cannot be removed." "Remove it by hand."
    echo "Removed $bin/mastio."
}

native() {
    local told=""
    export PYTHONSAFEPATH=1 # nothing is imported from the folder that the operator happens to be in
    if [ "$verb" = up ] && [ -e "$data/compose.env" ]; then # so far it ran in containers
        "$here/scripts/compose" down --data "$data" >/dev/null
        rm -f "$data/compose.env"
    fi
    if [ "$verb" = up ]; then
        install_missing
        ensure_venv
        [ -z "$link" ] || link_command
        "$venv/bin/python" -m mastio.bring_up.native up ${options[@]+"${options[@]}"}
        [ -z "$told" ] || echo "$told"
        return
    elif [ ! -x "$venv/bin/python" ]; then # nothing was ever brought up from this folder
        [ "$verb" != down ] || { echo "Mastio is not running." && exit 0; }
        [ "$verb" != status ] || { echo "not running" && exit 1; }
        fail "Mastio is not installed here." "Run ./deploy.sh up."
    fi
    exec "$venv/bin/python" -m mastio.bring_up.native "$verb" ${options[@]+"${options[@]}"}
}

# --- compose --------------------------------------------------------------------------------------------------------

compose() {
    exec "$here/scripts/compose" "$verb" ${options[@]+"${options[@]}"}
}

# As this data folder was started before. A new one: compose where an engine answers and the images are there or can be
# built; the reason otherwise.
choose_mode() {
    [ -z "$mode" ] || return 0
    local why
    if [ -e "$data/compose.env" ]; then
        mode=compose
    elif [ "$verb" != up ] || [ -e "$data/run/lock" ]; then
        mode=native
    elif why=$("$here/scripts/compose" available ${options[@]+"${options[@]}"}); then
        mode=compose
    else
        mode=native
        echo "mastio: native mode, because $why" >&2
    fi
}

parse "$@"
[ "$verb" != unlink ] || { unlink_command && exit 0; }
choose_mode
"$mode"
