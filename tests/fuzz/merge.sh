#!/bin/sh
# Adds to each corpus what earlier runs have found and reaches code that nothing else does: merge.sh FOLDER NAME...
set -eu
folder=$1
shift
for name; do
	mkdir -p "$folder/merged" "tests/fuzz/corpus/$name"
	rm -rf "$folder/merged/$name"
	mkdir "$folder/merged/$name"
	"$folder/$name" -merge=1 -use_counters=0 -timeout=10 "$folder/merged/$name" "tests/fuzz/corpus/$name" "$folder/found/$name" \
		>"$folder/merged/$name.log" 2>&1
	rm -rf "tests/fuzz/corpus/$name"
	mv "$folder/merged/$name" "tests/fuzz/corpus/$name"
	echo "$name: $(find "tests/fuzz/corpus/$name" -type f | wc -l) files"
done
