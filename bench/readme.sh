#!/bin/sh
# Puts what the last `make bench` left into bench/README.md, between the marks <!-- figures: NAME --> and <!-- end -->:
# BUILD/bench/NAME.txt, as it is when it has tables or images of Markdown, else between fences; and the plots beside it. What was
# not run stays as it is.
#
#   bench/readme.sh BUILD
set -eu
build=$1
here=$(dirname "$0")
temp=$(mktemp)
trap 'rm -f "$temp"' EXIT

awk -v folder="$build/bench" '
	function put(name,    file, line, text, fence) {
		file = folder "/" name ".txt"
		fence = "```\n"
		while ((getline line <file) > 0) {
			if (line ~ /^(\||!\[)/)
				fence = ""
			if (text != "" || line != "")
				text = text line "\n"
		}
		close(file)
		if (text != "")
			printf "\n%s%s%s\n", fence, text, fence
		return text != ""
	}
	/^<!-- end -->$/ { skipped = 0 }
	!skipped { print }
	/^<!-- figures: .* -->$/ { skipped = put($3) }
	' "$here/README.md" >"$temp"
cat "$temp" >"$here/README.md"
for plot in in-flight threads; do
	[ ! -f "$build/bench/$plot.svg" ] || cp "$build/bench/$plot.svg" "$here/$plot.svg"
done
