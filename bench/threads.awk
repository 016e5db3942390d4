# The table of bench/threads.sh: the middle one of every figure of a kind and size.
function middle(who, size, column,    n, i, j, v, sorted) {
	n = lines[who, size]
	for (i = 1; i <= n; i++) {
		v = figure[who, size, column, i]
		for (j = i - 1; j >= 1 && sorted[j] > v; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
	}
	return sorted[int((n + 1) / 2)]
}
{
	if (!(($2) in known)) {
		known[$2] = 1
		sizes[++count] = $2
	}
	i = ++lines[$1, $2]
	for (column = 3; column <= NF; column++)
		figure[$1, $2, column, i] = $column + 0
}
END {
	split("fleet peer", names, " ")
	for (w = 1; w <= 2; w++) {
		who = names[w]
		if (!lines[who, sizes[1]])
			continue
		printf "\n%-8s %9s %8s %11s %9s %11s %9s", who, "messages", who == "fleet" ? "commits" : "steps",
		    who == "fleet" ? "B a commit" : "B a step", "B a turn", who == "fleet" ? "us a commit" : "us a put",
		    "ms a turn"
		printf who == "fleet" ? " %14s %9s %9s\n" : "\n", "B of requests", "bare ms", "ms without"
		for (s = 1; s <= count; s++) {
			size = sizes[s]
			printf "%-8s %9d %8d %11.0f %9.0f %11.0f %9.2f", "", size, middle(who, size, 3), middle(who, size, 4),
			    middle(who, size, 5), middle(who, size, 6), middle(who, size, 7)
			printf who == "fleet" ? " %14.0f %9.2f %9.2f\n" : "\n", middle(who, size, 8), middle(who, size, 9),
			    middle(who, size, 10)
		}
	}
	last = sizes[count]
	if (lines["alone", last]) {
		printf "\nus a commit, one behind the other, nothing else between:"
		for (s = 1; s <= count; s++)
			printf " %s: %.1f", sizes[s], middle("alone", sizes[s], 3)
		printf " (%.2f x)\n", middle("alone", last, 3) / middle("alone", sizes[1], 3)
	}
	printf "\n%s messages by %s: fleet %.2f x the bytes a commit, %.2f x us a commit, %.2f x ms a turn (%.2f x without the bare request)", last, sizes[1],
	    middle("fleet", last, 4) / middle("fleet", sizes[1], 4),
	    middle("fleet", last, 6) / middle("fleet", sizes[1], 6),
	    middle("fleet", last, 7) / middle("fleet", sizes[1], 7),
	    middle("fleet", last, 10) / middle("fleet", sizes[1], 10)
	if (lines["peer", last])
		printf "; peer %.2f x, %.2f x, %.2f x", middle("peer", last, 4) / middle("peer", sizes[1], 4),
		    middle("peer", last, 6) / middle("peer", sizes[1], 6),
		    middle("peer", last, 7) / middle("peer", sizes[1], 7)
	printf "\n"
	for (s = 1; lines["peer", last] && s <= count; s++) {
		size = sizes[s]
		printf "peer / fleet at %d: bytes a step %.1f, bytes a turn %.1f, ms a turn %.1f\n", size,
		    middle("peer", size, 4) / middle("fleet", size, 4),
		    middle("peer", size, 5) / middle("fleet", size, 5),
		    middle("peer", size, 7) / middle("fleet", size, 7)
	}
}
