#!/bin/sh
# A turn more on a thread of 10, 100, 1,000, 2,000 messages: the bytes a commit writes and the time of
# a turn, of a fleet and of LangChain JS with its Postgres checkpointer, in turns in the same run.
# Without npm, network or PostgreSQL: ours alone.
#
#   bench/threads.sh BUILD [TURNS [ROUNDS]]      TURNS: of the peer, at most 9; the fleet makes ten times as many
#
# Every line measured is left in BUILD/bench-threads.txt.
# shellcheck disable=SC1091,SC2154 # what postgres.sh sets
set -eu
build=$1 turns=${2:-3} rounds=${3:-2}
here=$(dirname "$0")
sizes='10 100 1000 2000'
. "$here/peer/postgres.sh"
temp=$(mktemp -d /tmp/flotilla-bench-XXXXXX)
out=$build/bench-threads.txt

trap 'stop_postgres; rm -rf "$temp"' EXIT
trap 'exit 1' INT TERM

# A list of so many messages, by turns human and ai, 20 words of 64 each.
messages() {
	awk -v count="$1" 'BEGIN {
		n = split("the of and to in that was for with his they at be this from have by one had not but " \
		    "what all were when we there can an your which their said if do will each about how up out " \
		    "them then she many some so these would other into has more her two like him see time could " \
		    "no make than", words, " ")
		seed = 1
		printf "["
		for (i = 0; i < count; i++) {
			printf "%s{\"type\":\"%s\",\"content\":\"%d", i ? "," : "", i % 2 ? "ai" : "human", i
			for (j = 0; j < 20; j++) {
				seed = (seed * 1103 + 12345) % 1048573
				printf " %s", words[seed % n + 1]
			}
			printf "\"}"
		}
		printf "]"
	}'
}

saver=$build/peer/node_modules/@langchain/langgraph-checkpoint-postgres
version() {
	sed -n 's/.*"version": *"\(.*\)".*/\1/p' "$1/package.json"
}
if ! "$here/peer/install.sh" "$build"; then
	peer='no npm: not measured'
elif ! start_postgres "$temp"; then
	peer="$postgres_missing: not measured"
else
	peer="langchain $(version "$build/peer/node_modules/langchain"), checkpointer $(version "$saver"), $postgres_version"
fi
# shellcheck disable=SC2086 # sizes are words
"$build/bench-commits" 300 5 $sizes >"$out"
round=0
while [ "$round" -lt "$rounds" ]; do
	for size in $sizes; do
		messages $((size - 1)) >"$temp/messages.json"
		"$build/bench-threads" "$size" "$temp/messages.json" "$((turns * 10))" >>"$out"
		[ -z "$postgres_folder" ] ||
			node "$build/peer/threads.mjs" "$size" "$temp/messages.json" "$turns" "$temp" >>"$out"
	done
	round=$((round + 1))
done

mkdir -p "$build/bench"
{
echo
echo "a turn more on a thread of so many messages (peer: $peer)"
awk -f "$here/threads.awk" "$out"
} | tee "$build/bench/threads.txt"
