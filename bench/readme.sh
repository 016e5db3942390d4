#!/bin/sh
# Puts what the last `make bench` left into bench/README.md, between the marks <!-- figures: NAME --> and <!-- end -->:
# BUILD/bench/NAME.txt; and the plots beside it. What was not run stays as it is.
#
#   bench/readme.sh BUILD
set -eu
build=$1
here=$(dirname "$0")
temp=$(mktemp)
trap 'rm -f "$temp"' EXIT

awk -v folder="$build/bench" '
	/^<!-- end -->$/ { skipped = 0 }
	!skipped { print }
	/^<!-- figures: .* -->$/ {
		file = folder "/" $3 ".txt"
		while ((getline line <file) > 0) {
			if (!skipped)
				print ""
			skipped = 1
			print line
		}
		if (skipped)
			print ""
		close(file)
	}' "$here/README.md" >"$temp"
cat "$temp" >"$here/README.md"
for plot in in-flight threads; do
	[ ! -f "$build/bench/$plot.svg" ] || cp "$build/bench/$plot.svg" "$here/$plot.svg"
done
