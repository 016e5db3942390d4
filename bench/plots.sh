#!/bin/sh
# Draws what the last compare.sh and threads.sh measured: BUILD/bench/in-flight.svg, BUILD/bench/threads.svg; plots.txt is
# how a page beside them shows them.
#
#   bench/plots.sh BUILD
set -eu
build=$1
here=$(dirname "$0")
command -v gnuplot >/dev/null || { echo "no plots: no gnuplot (Debian package gnuplot-nox)" >&2; exit 0; }
temp=$(mktemp -d /tmp/flotilla-bench-XXXXXX)
trap 'rm -rf "$temp"' EXIT
mkdir -p "$build/bench"
: >"$temp/plots.txt"

# points FILE COLUMN_OF_X COLUMN_OF_Y CONDITION: the middle y of each x.
points() {
	awk -F"$sep" "$4 { print \$$2, \$$3 }" "$1" | sort -n -k1,1 -k2,2 |
		awk '$1 != x { flush(); x = $1; n = 0 }
			{ y[++n] = $2 }
			END { flush() }
			function flush() { if (n > 0) print x, y[int((n + 1) / 2)] }'
}

if [ -f "$build/bench/compare.tsv" ]; then
	sep='\t'
	for system in fleet floor langchain langchain-postgres; do
		points "$build/bench/compare.tsv" 7 9 \
			"\$4 == \"run\" && \$5 == \"$system\" && (\$6 == \"everysec\" || \$6 == \"-\")" >"$temp/$system"
	done
	gnuplot -e "folder='$temp'; out='$build/bench/in-flight.svg'" "$here/in-flight.gnuplot"
	echo '![Runs a second over runs in flight](in-flight.svg)' >>"$temp/plots.txt"
fi
if [ -f "$build/bench-threads.txt" ]; then
	sep=' '
	for system in fleet peer; do
		points "$build/bench-threads.txt" 2 7 "\$1 == \"$system\"" >"$temp/$system"
	done
	gnuplot -e "folder='$temp'; out='$build/bench/threads.svg'" "$here/threads.gnuplot"
	echo "![A turn's time over the thread's length](threads.svg)" >>"$temp/plots.txt"
fi
cp "$temp/plots.txt" "$build/bench/plots.txt"
