#!/bin/sh
# Keep nginx running on what the app renders into DATA/edge, and reload it when that changes: settings, certificate, or
# the app's address after its container was made anew. A reload drops no request; one that would fail is not made.
#   mastio-edge DATA
set -eu

data=${1:-/data}
edge=$data/edge
closing=$data/run/edge-closing

fingerprint() {
    {
        cat "$edge"/*.conf "$edge"/snippets/*.conf "$edge"/*.pem "$edge"/server.crt "$edge"/server.key
        getent hosts core
    } 2>/dev/null | sha256sum
}

is_good() {
    nginx -p "$edge/" -c nginx.conf -e stderr -t -q
}

# As many open files as this container may have, as the supervisor does for the app.
# shellcheck disable=SC3045  # every sh of a Linux image has it
ulimit -n "$(ulimit -Hn)"

# The logs go to the container's own, which are rotated; the folders are in memory.
mkdir -p "$data/run/edge-body"
rm -f "$closing"
ln -sf /dev/stdout "$data/logs/edge-access.log"
ln -sf /dev/stderr "$data/logs/edge-error.log"

pid=""
stopping=""
# shellcheck disable=SC2317  # called by trap
stop() {
    stopping=yes
    [ -z "$pid" ] || kill -QUIT "$pid" 2>/dev/null || true
}
trap stop TERM INT QUIT

known=$(fingerprint)
until is_good 2>/dev/null; do
    [ -z "$stopping" ] || exit 0
    sleep 0.2
    known=$(fingerprint)
done
nginx -p "$edge/" -c nginx.conf -e stderr -g "daemon off;" &
pid=$!

while [ -z "$stopping" ] && kill -0 "$pid" 2>/dev/null; do
    sleep 2 &
    wait $! || true
    now=$(fingerprint)
    if [ -z "$stopping" ] && [ "$now" != "$known" ] && is_good; then
        known=$now
        # HTTP/1.1 clients are asked to close their connections before the reload cuts those that are idle
        # (mastio/process/reloading.py).
        : >"$closing"
        sleep 2
        kill -HUP "$pid" 2>/dev/null || true
        sleep 2
        rm -f "$closing"
    fi
done
# A signal ends `wait` early: nginx may still be finishing what it serves.
status=0
while kill -0 "$pid" 2>/dev/null; do
    wait "$pid" && status=0 || status=$?
done
[ -z "$stopping" ] || exit 0
exit "$status"
