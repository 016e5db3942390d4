#!/bin/sh
# What a user would pick instead, in turns with our fleet: LangChain JS with nothing stored and with Postgres, the
# floor (bench/floor/floor.h); by LangGraph's API, LangGraph's server; and for bare dispatch BullMQ, Celery, gearmand, beanstalkd. Prints the tables.
#
#   bench/compare.sh BUILD [ROUNDS]
#
# Every measurement is a line of BUILD/bench/compare-<time>.tsv; BUILD/bench/compare.tsv is the last such file, compare.txt
# what was printed. A peer that cannot be measured is named, with the reason; status 1: something of ours could not be.
#   NO_CURVE=1   without the points that only the plot has
#   BENCH_TURN   a command that stands before each measurement, one that waits for a quiet machine for example
# shellcheck disable=SC1091,SC2154 # what postgres.sh sets
set -eu
build=$1 rounds=${2:-3}
here=$(dirname "$0")
. "$here/peer/postgres.sh"
temp=$(mktemp -d /tmp/flotilla-bench-XXXXXX)
trap 'stop_postgres; rm -rf "$temp"' EXIT
trap 'exit 1' INT TERM

mkdir -p "$build/bench"
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
out=$build/bench/compare-$(echo "$date" | tr -d :).tsv
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$here" status --porcelain 2>/dev/null)" ] || commit=$commit+
machine="$(nproc) x $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
printf 'date\tcommit\tmachine\tmeasure\tsystem\tstored\tin_flight\tcount\tper_s\tp50_ms\tp99_ms\tcpu_us\tmemory_kb\tparts\n' >"$out"

missing=
# Says it once.
miss() {
	case $missing in *"$1"*) return 0 ;; esac
	missing="$missing$1
"
	echo "not measured: $1" >&2
}

# What the last command said of its failure, or how it ended when it said nothing. An error of Node's is not in the last line.
reason() {
	awk -v status="$1" '
		/Error/ && error == "" { error = $0 }
		NF && !/^Node\.js v/ { last = $0 }
		END { print error != "" ? error : last != "" ? last : "it ended with status " status " and said nothing" }' "$temp/said"
}

# take NAME COMMAND...: a measurement; what it prints is a line.
: >"$temp/taken"
take() {
	name=$1 status=0
	shift
	# shellcheck disable=SC2086 # BENCH_TURN is words
	${BENCH_TURN:-} "$@" >"$temp/line" 2>"$temp/said" || status=$?
	if [ "$status" -eq 0 ] && [ -s "$temp/line" ]; then
		sed "s|^|$date	$commit	$machine	|" "$temp/line" >>"$out"
		printf '%s\tmeasured\n' "$name" >>"$temp/taken"
	else
		printf '%s\tfailed\t%s\n' "$name" "$(reason "$status")" | tee -a "$temp/taken" >&2
	fi
}

# A line for each NAME that failed: how often, of how many measurements, and why, the last time.
failures() {
	awk -F '\t' '
		{ all[$1]++ }
		$2 == "failed" { failed[$1]++; why[$1] = $3 }
		END { for (name in failed) printf "%s: %d of %d measurements failed: %s\n", name, failed[name], all[name], why[name] }' \
		"$temp/taken" | sort
}

# --- what there is ---

peers=yes
"$here/peer/install.sh" "$build" || { peers=; miss "langchain, langgraph, bullmq: npm ($(tail -n 1 "$build/peer/npm.log"))"; }
if [ -n "$peers" ] && ! start_postgres "$temp"; then
	miss "langchain-postgres: $postgres_missing"
fi
has() {
	command -v "$1" >/dev/null || { miss "$1: no Debian package $2"; return 1; }
}

# --- runs ---

fleet() { take fleet "$build/bench-turn" --fsync "$1" --in-flight "$2" --runs "$3"; }
floor() { take floor "$build/bench-floor" --fsync "$1" --in-flight "$2" --runs "$3"; }
langchain() { # IN_FLIGHT RUNS PROCESSES
	[ -z "$peers" ] ||
		take langchain node "$build/peer/langchain.mjs" "$build" --in-flight "$1" --runs "$2" --processes "$3"
}
postgres() { # STORED IN_FLIGHT RUNS PROCESSES
	[ -z "$postgres_folder" ] ||
		take langchain-postgres node "$build/peer/langchain.mjs" "$build" --stored "$1" --in-flight "$2" --runs "$3" \
			--processes "$4" --postgres "$temp" --postmaster "$postmaster"
}

runs() {
	langchain 64 500 1
	langchain 64 700 2
	langchain 1 100 1
	for fsync in everysec always; do
		fleet $fsync 64 4000
		floor $fsync 64 12000
		postgres $fsync 64 300 1
		postgres $fsync 64 400 2
		fleet $fsync 1 300
		floor $fsync 1 500
		postgres $fsync 1 80 1
	done
}

# Of a plot only: once.
curve() {
	for in_flight in 4 16 256; do
		fleet everysec $in_flight 3000
		floor everysec $in_flight 8000
		langchain $in_flight 400 1
		postgres everysec $in_flight 260 1
	done
}

waiting() {
	take fleet "$build/bench-turn" --waiting 1000
	take floor "$build/bench-floor" --waiting 1000
	[ -z "$peers" ] || take langchain node "$build/peer/langchain.mjs" "$build" --waiting 1000
	[ -z "$postgres_folder" ] || take langchain-postgres node "$build/peer/langchain.mjs" "$build" --waiting 1000 \
		--stored everysec --postgres "$temp" --postmaster "$postmaster"
}

# --- runs by LangGraph's API ---

http() { # FSYNC IN_FLIGHT RUNS
	take fleet "$build/bench-http" --fsync "$1" --in-flight "$2" --runs "$3"
}
langgraph() { # IN_FLIGHT RUNS
	[ -z "$peers" ] || take langgraph node "$build/peer/langgraph.mjs" "$build" --in-flight "$1" --runs "$2"
}

served() {
	http everysec 64 3000
	http always 64 3000
	langgraph 64 200
	http everysec 1 300
	http always 1 300
	langgraph 1 80
}

# 500 tokens an answer, one each 10 ms: a run takes the model 20 s. Once.
streamed() {
	take fleet "$build/bench-http" --in-flight 16 --runs 16 --tokens 500 --gap-ms 10
	[ -z "$peers" ] || take langgraph node "$build/peer/langgraph.mjs" "$build" --in-flight 16 --runs 16 --tokens 500 \
		--gap-ms 10
}

# --- bare dispatch ---

dispatch() {
	take fleet "$build/bench-dispatch" fleet 60000 64
	! has gearmand gearman-job-server || take gearmand "$build/bench-dispatch" gearmand 60000 64
	! has beanstalkd beanstalkd || take beanstalkd "$build/bench-dispatch" beanstalkd 60000 64
	[ -z "$peers" ] || take bullmq node "$build/peer/bullmq.mjs" 6000 64
	if /usr/bin/python3 -c 'import celery, redis' 2>/dev/null; then
		take celery /usr/bin/python3 "$build/peer/celery_peer.py" 2500 64
	else
		miss 'celery: no Debian packages python3-celery and python3-redis'
	fi
}

round=0
while [ "$round" -lt "$rounds" ]; do
	runs
	served
	dispatch
	round=$((round + 1))
done
waiting
streamed
[ -n "${NO_CURVE:-}" ] || curve

missing=$missing$(failures)
cp "$out" "$build/bench/compare.tsv"
version() {
	sed -n 's/.*"version": *"\(.*\)".*/\1/p' "$build/peer/node_modules/$1/package.json" 2>/dev/null || true
}
{
	awk -f "$here/compare.awk" "$out"
	[ -z "$missing" ] || printf '\nNot measured:\n\n%s\n' "$(echo "$missing" | sed '/^$/d; s/^/- /')"
	printf '\n%s, commit %s, %s rounds. %s. ' "$date" "$commit" "$rounds" "$machine"
	printf '%s; node %s' "$(redis-server --version | sed 's/Redis server v=\([^ ]*\).*/Redis \1/')" \
		"$(node --version 2>/dev/null || echo missing)"
	[ -z "$peers" ] || printf '; langchain %s, @langchain/openai %s, @langchain/langgraph-api %s, bullmq %s' \
		"$(version langchain)" "$(version @langchain/openai)" "$(version @langchain/langgraph-api)" "$(version bullmq)"
	[ -z "$postgres_folder" ] || printf '; checkpointer %s, %s' \
		"$(version @langchain/langgraph-checkpoint-postgres)" "$postgres_version"
	for package in gearman-job-server beanstalkd python3-celery; do
		printf '; %s %s' "$package" "$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || echo missing)"
	done
	echo .
} | tee "$build/bench/compare.txt"

# A peer may be missing; what is ours may not.
case $missing in *fleet:* | *floor:*) exit 1 ;; esac
