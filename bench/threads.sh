#!/bin/sh
# A turn more on a thread of 10, 100, 1,000, 2,000 messages: the bytes a commit writes and the time of
# a turn, of a fleet and of LangChain JS with its Postgres checkpointer, in turns in the same run.
# Without npm, network or PostgreSQL: ours alone.
#
#   bench/threads.sh BUILD [TURNS [ROUNDS]]
#
# Every line measured is left in BUILD/bench-threads.txt.
set -eu
build=$1 turns=${2:-3} rounds=${3:-2}
here=$(dirname "$0")
sizes='10 100 1000 2000'
pg=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
pg=${pg%/initdb}
temp=$(mktemp -d /tmp/flotilla-bench-XXXXXX)
out=$build/bench-threads.txt
started=

# PostgreSQL refuses to be run by root.
as_owner() {
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

finish() {
	[ -z "$started" ] || as_owner "$pg/pg_ctl" -D "$temp/data" -m fast -w stop >/dev/null 2>&1 || true
	rm -rf "$temp"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Its own folder, a Unix socket alone; no checkpoint falls into a measurement by chance.
start_postgres() {
	[ "$(id -u)" != 0 ] || chown postgres "$temp"
	(cd / && as_owner "$pg/initdb" -D "$temp/data" -U postgres -A trust) >/dev/null &&
		(cd / && as_owner "$pg/pg_ctl" -D "$temp/data" -w -l "$temp/log" -o "-k $temp \
			-c listen_addresses='' -c max_wal_size=8GB -c checkpoint_timeout=1h" start) >/dev/null &&
		started=yes
}

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

mkdir -p "$build/peer"
cp "$here"/peer/* "$build/peer/"
saver=$build/peer/node_modules/@langchain/langgraph-checkpoint-postgres
if [ ! -d "$saver" ]; then
	(cd "$build/peer" && npm install --no-audit --no-fund >npm.log 2>&1) || true
fi
version() {
	sed -n 's/.*"version": *"\(.*\)".*/\1/p' "$1/package.json"
}
if [ ! -d "$saver" ]; then
	peer='no npm: not measured'
elif [ -z "$pg" ] || ! start_postgres; then
	peer='no PostgreSQL (Debian package postgresql): not measured'
else
	peer="langchain $(version "$build/peer/node_modules/langchain"), checkpointer $(version "$saver"), $("$pg/postgres" --version)"
fi
# shellcheck disable=SC2086 # sizes are words
"$build/bench-commits" 300 5 $sizes >"$out"
round=0
while [ "$round" -lt "$rounds" ]; do
	for size in $sizes; do
		messages $((size - 1)) >"$temp/messages.json"
		"$build/bench-threads" "$size" "$temp/messages.json" "$turns" >>"$out"
		[ -z "$started" ] ||
			node "$build/peer/threads.mjs" "$size" "$temp/messages.json" "$turns" "$temp" >>"$out"
	done
	round=$((round + 1))
done

echo
echo "a turn more on a thread of so many messages (peer: $peer)"
awk -f "$here/threads.awk" "$out"
