#!/bin/sh
# Serve the samples as soon as words find their records, embed them beside the server, and then show a few searches.
set -eu
stackroom=${VENV:-.venv}/bin/stackroom

"$stackroom" init --no-model
"$stackroom" serve --http &
server=$!
show_searches() {
  "$stackroom" init
  "$stackroom" search anime "melancholy journey through space" --limit 3
  "$stackroom" search "a fireball in a crowded room" --limit 3
}
show_searches &
searches=$!
trap 'kill "$server" "$searches" 2>/dev/null || true' INT TERM HUP EXIT
status=0
wait "$server" || status=$?
if kill -0 "$server" 2>/dev/null; then wait "$server" || status=$?; fi # the first wait was ended by a signal
exit "$status"
