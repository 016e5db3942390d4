# The tables of compare.sh, from its result file: the middle of all rounds, ratios,
# goals: what was set when the project began.
BEGIN { FS = "\t" }
FNR == 1 { next }
{
	key = $4 SUBSEP $5 SUBSEP $6 SUBSEP $7
	add(key, "per_s", $9)
	add(key, "p50_ms", $10)
	add(key, "p99_ms", $11)
	add(key, "cpu_us", $12)
	add(key, "memory_kb", $13)
	parts[key] = $14
}

function add(key, what, value) {
	if (value != "-")
		values[key, what, ++count[key, what]] = value + 0
}

# The middle one; 0: none.
function middle(measure, who, stored, in_flight, what,    key, n, i, j, swap, sorted) {
	key = measure SUBSEP who SUBSEP stored SUBSEP in_flight
	n = count[key, what]
	if (n == 0)
		return 0
	for (i = 1; i <= n; i++) {
		sorted[i] = values[key, what, i]
		for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) {
			swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
		}
	}
	return sorted[int((n + 1) / 2)]
}

# Of one process and of two, the better one.
function best(measure, who, stored, in_flight, what,    one, two) {
	one = middle(measure, who, stored, in_flight, what)
	two = middle(measure, who "-2", stored, in_flight, what)
	if (one == 0 || two == 0)
		return one + two
	if (what == "per_s")
		return one > two ? one : two
	return one < two ? one : two
}

function show(value) {
	if (value == 0)
		return "-"
	return sprintf(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
}

function times(a, b) {
	return a == 0 || b == 0 ? "-" : sprintf(a / b < 10 ? "%.2f x" : "%.0f x", a / b)
}

# One row of the first table; unit: what one of them is, so as to be read.
function row(name, measure, fsync, in_flight, what, scale, goal, up,    ours, bare, nothing, postgres, met) {
	ours = middle(measure, "fleet", fsync, in_flight, what) * scale
	bare = middle(measure, "floor", fsync, in_flight, what) * scale
	nothing = best(measure, "langchain", "-", in_flight, what) * scale
	postgres = best(measure, "langchain-postgres", fsync, in_flight, what) * scale
	met = up ? ours >= goal : ours <= goal
	printf "| %s | %s | %s %s: %s | %s | %s | %s | %s | %s | %s |\n", name, show(ours), up ? ">=" : "<=",
	    goal, ours == 0 ? "-" : met ? "reached" : "missed", show(bare), times(ours, bare),
	    show(nothing), up ? times(ours, nothing) : times(nothing, ours), show(postgres),
	    up ? times(ours, postgres) : times(postgres, ours)
}

function ratio_goal(name, fsync, who, least,    ours, other, found, met) {
	ours = middle("run", "fleet", fsync, 64, "per_s")
	other = who == "floor" ? middle("run", "floor", fsync, 64, "per_s") : \
	    best("run", "langchain-postgres", fsync, 64, "per_s")
	found = other == 0 ? 0 : ours / other
	met = found >= least ? "reached" : sprintf("missed by a factor of %.2f", least / (found + 1e-9))
	printf("| %s | %s | %s | %s |\n", name, least, found == 0 ? "-" : sprintf("%.2f", found), found == 0 ? "-" : met)
}

function detail(measure, who, stored, in_flight,    key) {
	key = measure SUBSEP who SUBSEP stored SUBSEP in_flight
	if (!(key in parts))
		return
	printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", who, stored == "-" ? "nothing" : stored, in_flight,
	    show(middle(measure, who, stored, in_flight, "per_s")), show(middle(measure, who, stored, in_flight, "p50_ms")),
	    show(middle(measure, who, stored, in_flight, "p99_ms")), show(middle(measure, who, stored, in_flight, "cpu_us")),
	    parts[key]
}

function waited(who, stored,    kb) {
	kb = middle("waiting", who, stored, 1000, "memory_kb")
	if (kb > 0)
		printf "| %s | %s | %s | %s |\n", who, stored == "-" ? "nothing" : stored, show(kb),
		    parts["waiting" SUBSEP who SUBSEP stored SUBSEP 1000]
}

function served(measure, who, stored, in_flight,    cpu) {
	if (middle(measure, who, stored, in_flight, "per_s") == 0)
		return
	cpu = middle(measure, who, stored, in_flight, "cpu_us")
	printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", who, stored == "-" ? "in memory" : "Redis, " stored,
	    in_flight (measure == "http" ? "" : ", streamed"), show(middle(measure, who, stored, in_flight, "per_s")),
	    times(middle(measure, "fleet", "everysec", in_flight, "per_s"), middle(measure, who, stored, in_flight, "per_s")),
	    show(middle(measure, who, stored, in_flight, "p50_ms")), show(middle(measure, who, stored, in_flight, "p99_ms")),
	    show(cpu), times(cpu, middle(measure, "fleet", "everysec", in_flight, "cpu_us")),
	    parts[measure SUBSEP who SUBSEP stored SUBSEP in_flight]
}

function dispatched(who, stored,    ours, its, cpu, its_cpu) {
	ours = middle("dispatch", "fleet", "-", 64, "per_s")
	cpu = middle("dispatch", "fleet", "-", 64, "cpu_us")
	its = middle("dispatch", who, stored, 64, "per_s")
	its_cpu = middle("dispatch", who, stored, 64, "cpu_us")
	if (its > 0)
		printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", who, stored == "-" ? "nothing" : "Redis, " stored,
		    show(its), times(ours, its), show(middle("dispatch", who, stored, 64, "p50_ms")), show(its_cpu),
		    times(its_cpu, cpu), parts["dispatch" SUBSEP who SUBSEP stored SUBSEP 64]
}

END {
	print "| 64 in flight, but where it says alone | fleet | goal | floor | fleet / floor | LangChain, nothing stored | better by | LangChain + Postgres | better by |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	row("runs/s, everysec", "run", "everysec", 64, "per_s", 1, 3500, 1)
	row("runs/s, always", "run", "always", 64, "per_s", 1, 2400, 1)
	row("alone, p50 ms, everysec", "run", "everysec", 1, "p50_ms", 1, 3, 0)
	row("alone, p50 ms, always", "run", "always", 1, "p50_ms", 1, 5, 0)
	row("CPU of a run, ms, everysec", "run", "everysec", 64, "cpu_us", 0.001, 0.5, 0)
	row("CPU of a run, ms, always", "run", "always", 64, "cpu_us", 0.001, 0.5, 0)
	row("memory of a run that waits, KB, 1,000 waiting", "waiting", "everysec", 1000, "memory_kb", 1, 40, 0)

	print "\n| goal in ratios, runs/s, 64 in flight | at least | is | |"
	print "| --- | --- | --- | --- |"
	ratio_goal("fleet / LangChain + Postgres, everysec", "everysec", "langchain", 75)
	ratio_goal("fleet / LangChain + Postgres, always", "always", "langchain", 50)
	ratio_goal("fleet / floor, everysec", "everysec", "floor", 0.5)
	ratio_goal("fleet / floor, always", "always", "floor", 0.5)

	print "\n| all of it | stored | in flight | runs/s | p50 ms | p99 ms | CPU us a run | of that |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- |"
	n = split("fleet floor langchain langchain-2 langchain-postgres langchain-postgres-2", systems, " ")
	m = split("- everysec always", kinds, " ")
	o = split("1 4 16 64 256", flights, " ")
	for (i = 1; i <= n; i++)
		for (j = 1; j <= m; j++)
			for (k = 1; k <= o; k++)
				detail("run", systems[i], kinds[j], flights[k])

	print "\n| memory, KB a run, 1,000 waiting | stored | all | of that |"
	print "| --- | --- | --- | --- |"
	for (i = 1; i <= n; i++)
		for (j = 1; j <= m; j++)
			waited(systems[i], kinds[j])

	print "\n| by LangGraph's API | stored | in flight | runs/s | fleet is faster by | p50 ms | p99 ms | CPU us a run | fleet takes less by | of that |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	for (k = 1; k <= o; k++) {
		served("http", "fleet", "everysec", flights[k])
		served("http", "fleet", "always", flights[k])
		served("http", "langgraph", "-", flights[k])
	}
	served("http-stream", "fleet", "everysec", 16)
	served("http-stream", "langgraph", "-", 16)

	print "\n| a job of 300 bytes and its answer of 300, 64 in flight | stored | jobs/s | fleet is faster by | p50 ms | CPU us a job | fleet takes less by | of that |"
	print "| --- | --- | --- | --- | --- | --- | --- | --- |"
	dispatched("fleet", "-")
	dispatched("gearmand", "-")
	dispatched("beanstalkd", "-")
	dispatched("bullmq", "everysec")
	dispatched("celery", "everysec")
}
