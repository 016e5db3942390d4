#!/bin/sh
# Runs fuzzers, two at a time: run.sh FOLDER SECONDS NAME... What a fuzzer trips over is kept in
# FOLDER/found as NAME-crash-...; FOLDER/NAME repeats it. SEED in the environment: of what is tried; 0 or none for
# another each time.
set -u
folder=$1
seconds=$2
shift 2

if [ "${1-}" = --one ]; then
	name=$2
	dictionary=tests/fuzz/dictionaries/$name.dict
	mkdir -p "$folder/found/$name"
	log=$folder/found/$name.log
	set -- "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 "-seed=${SEED:-0}" \
		"-artifact_prefix=$folder/found/$name-"
	[ ! -e "$dictionary" ] || set -- "$@" "-dict=$dictionary"
	set -- "$@" "$folder/found/$name"
	[ ! -d "tests/fuzz/corpus/$name" ] || set -- "$@" "tests/fuzz/corpus/$name"
	if "$folder/$name" "$@" >"$log" 2>&1; then
		echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
		exit 0
	fi
	tail -n 60 "$log"
	echo "fuzz: $name FAILED"
	exit 1
fi

printf '%s\n' "$@" | xargs -P 2 -n 1 "$0" "$folder" "$seconds" --one || exit 1
echo "fuzz: $# fuzzers, nothing found"
