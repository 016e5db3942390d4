#!/bin/sh
# What 1, 5, 10, 20 layers of middleware that do nothing cost, in microseconds a layer: ours in C and in
# Lua, and LangChain JS's in the same run. Without npm or network: ours alone.
#
#   bench/layers.sh BUILD [CALLS [ROUNDS]]
set -eu
build=$1 calls=${2:-20000} rounds=${3:-5}
here=$(dirname "$0")
counts='0 1 5 10 20'
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# shellcheck disable=SC2086 # counts are words
"$build/bench-layers" "$calls" "$rounds" $counts >"$out"
if "$here/peer/install.sh" "$build"; then
	# shellcheck disable=SC2086
	node "$build/peer/layers.mjs" $((calls / 200)) "$rounds" $counts | sed 's/^/js-/' >>"$out"
	peer=$(sed -n 's/.*"version": *"\(.*\)".*/langchain \1/p' "$build/peer/node_modules/langchain/package.json")
else
	peer='no npm: not measured'
fi
mkdir -p "$build/bench"
{
echo
echo "layers that do nothing, us a layer (a whole call with none; peer: $peer)"
echo
awk '
	{ us[$1, $2] = $3; seen[$1] = 1 }
	END {
		printf "%-10s %10s %8s %8s %8s %8s\n", "", "none: us", "1", "5", "10", "20"
		n = split("c-wrap lua-wrap js-wrap c-node lua-node js-node", kinds, " ")
		split("1 5 10 20", counts, " ")
		for (i = 1; i <= n; i++) {
			k = kinds[i]
			if (!(k in seen))
				continue
			printf "%-10s %10.1f", k, us[k, 0]
			for (j = 1; j <= 4; j++)
				printf " %8.2f", (us[k, counts[j]] - us[k, 0]) / counts[j]
			printf "\n"
		}
	}' "$out"
} | tee "$build/bench/layers.txt"
