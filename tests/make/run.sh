#!/bin/sh
# What `make` does with files that come and go: in a small tree of its own, with the real Makefile.
#
#   tests/make/run.sh BUILD
set -eu
build=$1/make
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$build"
mkdir -p "$build/proto" "$build/runtime"
cd "$build"
unset MAKEFLAGS MAKELEVEL MFLAGS SAN TSAN BUILD

fail() {
	echo "FAIL: $*" >&2
	exit 1
}
add() { # FOLDER NAME: a file with one function
	printf 'int %s(void);\nint\n%s(void)\n{\n\treturn 0;\n}\n' "$2" "$2" >"$1/$2.c"
}
library() {
	make -f "$root/Makefile" build/libshared.a >make.log 2>&1 || fail "make: $(cat make.log)"
}
expect() { # NAME...: all that is in the library
	found=$(ar t build/libshared.a | sort | tr '\n' ' ')
	[ "$found" = "$(printf '%s.o ' "$@")" ] || fail "the library has $found"
}

add proto first
add runtime second
library
expect first second

made=$(stat -c %y build/libshared.a)
library
[ "$made" = "$(stat -c %y build/libshared.a)" ] || fail "the library was made again for nothing"

# One `make` that has begun before the file came makes the library after another has made the object.
add proto third
make -f "$root/Makefile" build/proto/third.o >make.log 2>&1
touch build/libshared.a
library
expect first second third

rm proto/first.c
library
expect second third
echo "4 passed, 0 failed"
