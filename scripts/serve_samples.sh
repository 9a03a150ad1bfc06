#!/bin/sh
# Serve the samples as soon as words find their records, and give a tour of them once they are embedded, beside the server.
set -eu
pinakes=${VENV:-.venv}/bin/pinakes

"$pinakes" init --no-model
"$pinakes" serve --http &
server=$!
"$pinakes" tour &
tour=$!
trap 'kill "$server" "$tour" 2>/dev/null || true' INT TERM HUP EXIT
status=0
wait "$server" || status=$?
if kill -0 "$server" 2>/dev/null; then wait "$server" || status=$?; fi # the first wait was ended by a signal
exit "$status"
