# Sourced by the other scripts: finds a Python, makes .venv once, installs this checkout into it (editable).
# A stamp of pyproject.toml decides when to install again.
VENV="${VENV_FOLDER:-$PWD/.venv}"

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    echo "ringfence needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2
    return 1
}

# ensure_venv [EXTRA]
ensure_venv() {
    extra="${1:+[$1]}"
    stamp="$VENV/.ringfence-stamp"
    if [ -x "$VENV/bin/python" ] && [ -f "$stamp" ] && cmp -s pyproject.toml "$stamp.toml" &&
        grep -q "^${1:-base}\$" "$stamp"; then
        return 0
    fi
    python="$(find_python)"
    echo "making $VENV with $python" >&2
    [ -x "$VENV/bin/python" ] || "$python" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -e ".$extra"
    { [ -n "${1:-}" ] && printf '%s\n' "$1"; printf 'base\n'; } > "$stamp"
    cp pyproject.toml "$stamp.toml"
}
