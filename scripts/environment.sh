#!/bin/sh
# Install Stackroom into the virtual environment of this checkout: `scripts/environment.sh serving` or `development`.
#
# PYTHON names the Python to use, VENV the folder. A new environment is whole or absent: it is removed when its installation
# fails, and one that was killed leaves a mark, by which the next run starts again with an empty folder.
set -eu

kind=$1
venv=${VENV:-.venv}
unfinished=$venv/.unfinished
uv_folder=$venv/.uv

say() { echo "stackroom: $*" >&2; }

version_of() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3 python3.14 python3.13 python3.12 python3.11 python; fi
    for candidate; do
        if is_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    found=$(version_of "$1") && found="$1 is $found" || found="$1 is not here"
    say "Python 3.11 or newer is needed, and $found; install one, or name it: make $goal PYTHON=/path/to/python3.12"
    return 1
}

find_uv() {
    command -v uv && return
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-compile --target "$uv_folder" \
        --require-hashes -r requirements-installer.lock >/dev/null 2>&1 && echo "$uv_folder/bin/uv"
}

install_with_uv() {
    uv=$(find_uv) || return 1
    "$uv" pip install -q --python "$venv/bin/python" --require-hashes -r "$lock" &&
        "$uv" pip install -q --python "$venv/bin/python" --no-deps -e .
}

install_with_pip() {
    "$venv/bin/python" -m pip install -q --require-hashes -r "$lock" &&
        "$venv/bin/python" -m pip install -q --no-deps -e .
}

finish() {
    status=$?
    rm -rf "$uv_folder"
    if [ "$status" -eq 0 ]; then
        rm -f "$unfinished"
    elif [ "$is_new" = yes ]; then
        rm -rf "$venv"
    elif [ "$status" -ne 130 ]; then
        rm -f "$unfinished"   # an update that failed has left the environment as it was
    fi
    exit "$status"
}

case $kind in
serving) lock=requirements-server.lock goal=serve ;;
development) lock=requirements.lock goal=test ;;
*) say "'$kind' is no environment; there are serving and development"; exit 2 ;;
esac

is_new=no
if [ -e "$unfinished" ] || ! is_new_enough "$venv/bin/python"; then
    python=$(find_python)
    is_new=yes
    rm -rf "$venv"
fi
trap finish EXIT
trap 'exit 130' INT TERM HUP

if [ "$is_new" = yes ]; then
    mkdir -p "$venv"
    : >"$unfinished"
    if ! "$python" -m venv "$venv"; then
        say "$python cannot make a virtual environment; on Debian and Ubuntu, install python3-venv"
        exit 1
    fi
fi
: >"$unfinished"
echo "installing into $venv what $kind needs" >&2
if ! install_with_uv && ! install_with_pip; then
    say "not installed; the reason is above. Once it is mended, run again: make $goal"
    exit 1
fi
if [ "$kind" = development ]; then "$venv/bin/python" -m compileall -q src; fi
