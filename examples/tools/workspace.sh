# shellcheck shell=sh
# Sourced by the tools that work in the folder $WORKSPACE. The last line on stderr,
# "SomeError: message", is the error that the model and a retry middleware see.

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

[ -n "${WORKSPACE:-}" ] || fail "RuntimeError: WORKSPACE is not set; start the tool worker with WORKSPACE=/some/folder"
root=$(realpath -e -- "$WORKSPACE" 2>/dev/null) || fail "FileNotFoundError: the workspace '$WORKSPACE' does not exist; create the folder"
[ "$root" != / ] || fail "PermissionError: the workspace cannot be the whole file system; name a folder"

# Prints where PATH within the workspace really is, links followed; fails outside of it.
inside() {
	case $1 in
	/*) fail "PermissionError: '$1' is absolute; give a path within the workspace" ;;
	esac
	real=$(realpath -m -- "$root/$1")
	case $real in
	"$root"/?*) printf '%s\n' "$real" ;;
	*) fail "PermissionError: '$1' is outside of the workspace; give a path within it" ;;
	esac
}
