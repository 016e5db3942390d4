#!/bin/sh
# create_file.sh -- PATH: writes standard input to PATH within $WORKSPACE. The file is there
# whole or not at all, and writing it twice is writing it once.
set -eu
# shellcheck source=examples/tools/workspace.sh
. ./workspace.sh
path=$2
target=$(inside "$path")

# Of several calls at once only one can remove it.
if rm -- "$root/.disk-full" 2>/dev/null; then
	fail "OSError: [Errno 28] No space left on device: disk full"
fi
[ ! -d "$target" ] || fail "IsADirectoryError: '$path' is a folder; give the name of a file"

mkdir -p -- "$(dirname -- "$target")"
part=$(mktemp -- "$(dirname -- "$target")/.create_file.XXXXXX")
trap 'rm -f -- "$part"' EXIT
trap 'exit 143' TERM INT
cat > "$part"
chmod 644 -- "$part"
size=$(wc -c < "$part")
mv -f -T -- "$part" "$target"
echo "Wrote $size bytes to $path."
