#!/bin/sh
# Installs into a folder of its own, builds every example middleware against the installed headers alone,
# and has the installed program load it.
#
#   tests/install/run.sh BUILD [SAN=1]      BUILD: not used but to find what is there already
set -eu
shift
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
make --no-print-directory install PREFIX="$prefix" "$@" >"$prefix/said" 2>&1 || { cat "$prefix/said"; exit 1; }
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" PATH="$prefix/bin:$PATH"
flags=$(pkg-config --cflags flotilla)
share=$prefix/share/flotilla/examples
passed=0 failed=0

# check NAME SETTINGS FILE: builds it, and the installed flotilla draws an agent that has it.
check() {
	printf 'name: %s\nmodel: m:x\nmiddleware: [%s: %s]\n' "$1" "$1" "$2" >"$prefix/agent.yaml"
	# shellcheck disable=SC2086 # flags are words
	if cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -fPIC -shared $flags -o "$prefix/$1.so" "$3" &&
		flotilla graph "$prefix/agent.yaml" --plugin "$prefix/$1.so" >"$prefix/said" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$3:"
		cat "$prefix/said"
	fi
}

check greet '{name: Ada}' "$share/plugin/template.c"
check thrifty '{max_tokens: 10}' "$share/plugin/thrifty.c"
for file in "$share"/middleware/c/*.c; do
	name=$(basename "$file" .c)
	settings='{}'
	[ "$name" != fallback ] || settings='{model: "m:y"}'
	check "$name" "$settings" "$file"
done
# What was made for another ABI is refused with both numbers.
sed 's/= MIDDLEWARE_ABI/= MIDDLEWARE_ABI + 1/' "$share/plugin/template.c" >"$prefix/other.c"
# shellcheck disable=SC2086
cc -std=c11 -fPIC -shared $flags -o "$prefix/other.so" "$prefix/other.c"
if flotilla graph "$prefix/agent.yaml" --plugin "$prefix/other.so" >"$prefix/said" 2>&1 ||
	! grep -q 'is made for middleware ABI [0-9]*, this is ABI' "$prefix/said"; then
	failed=$((failed + 1))
	cat "$prefix/said"
else
	passed=$((passed + 1))
fi
# The header set is whole: each stands alone.
for header in "$prefix"/include/flotilla/*.h; do
	# shellcheck disable=SC2086
	if echo "#include \"$(basename "$header")\"" | cc -std=c11 -Wall -Werror -fsyntax-only $flags -xc -; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
# expect WORDS COMMAND...: says just that.
expect() {
	words=$1
	shift
	said=$("$@" 2>&1) || :
	if [ "$said" = "$words" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$*: '$said', not '$words'"
	fi
}

# A program calls itself what it is called by.
expect "$(flotilla --version | sed 's/flotilla/flotilla-broker/')" flotilla-broker --version
expect "flotilla-hub: unrecognized option '--nome', did you mean '--name'? \`flotilla-hub --help\` lists them" flotilla-hub --nome x

# complete WORDS... : what bash offers for the last one.
complete() {
	# shellcheck disable=SC2016 # for the shell in there
	bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		[[ $1 == flotilla ]] && _flotilla "$1" || _flotilla_program "$1"; echo "${COMPREPLY[*]}"' \
		"$prefix/share/bash-completion/completions/$1" "$@"
}
expect 'submit state store serve' complete flotilla s
expect 'watch' complete flotilla help w
expect 'apply list show history diff rollback delete' complete flotilla agents ''
expect 'broker redis fleet' complete flotilla health ''
expect '' complete flotilla state ''
expect '--input --interrupt-after --interrupt-before' complete flotilla submit --in
expect '--probe-drop-ms --probe-ms --probe-wait-ms' complete flotilla-broker --p
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
