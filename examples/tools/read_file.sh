#!/bin/sh
# read_file.sh -- PATH FIRST_LINE LINE_COUNT: prints lines of a file within $WORKSPACE.
set -eu
# shellcheck source=examples/tools/workspace.sh
. ./workspace.sh
path=$2
target=$(inside "$path")

[ -e "$target" ] || fail "FileNotFoundError: there is no file '$path' in the workspace"
[ -f "$target" ] || fail "IsADirectoryError: '$path' is no file; list_files shows what is there"
exec sed -n "$3,$(($3 + $4 - 1))p" < "$target"
