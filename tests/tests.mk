# How the tests are built and run; included by the Makefile.

CHECK_LIBS = $(shell pkg-config --libs check) $(shell pkg-config --libs libevent 2>/dev/null)
# tests/support/failed_check.c is what fails.
CHECK_WRAP := -Wl,--wrap=_ck_assert_failed

support := $(BUILD)/libsupport.a
support_objects := $(call objects,tests/support)
$(support): $(support_objects) $(call unlike,$(support),$(support_objects))
	$(call archive,rcs,$(support_objects))

# What the unit tests look at inside of programs: all but their main(). An archive, so that
# only what is tested is linked; q: two programs may have files of one name.
UNIT_PROGRAM_OBJECTS = $(filter-out %/main.o,$(call objects,broker coordinator worker-model worker-tools) $(CLI_OBJECTS))
programs := $(BUILD)/libprograms.a
$(programs): $$(UNIT_PROGRAM_OBJECTS) $$(call unlike,$$@,$$(UNIT_PROGRAM_OBJECTS))
	$(call archive,qcs,$(UNIT_PROGRAM_OBJECTS))

# msgpack-c packs, too, for comparison.
$(BUILD)/tests-unit: $$(call objects,tests/unit) $(support) $(programs) $(library)
	$(link) $(CHECK_WRAP) -rdynamic -o $@ $^ $(LDLIBS) $(CHECK_LIBS) $(shell pkg-config --libs msgpack $(CLI_PACKAGES))

$(BUILD)/tests-%: $$(call objects,tests/$$*) $(support) $(library)
	$(link) $(CHECK_WRAP) -rdynamic -o $@ $^ $(LDLIBS) $(CHECK_LIBS)

# Shared objects that the registry's tests load, good and bad: the good one is the example's.
plugins := $(patsubst %.c,$(BUILD)/plugins/%.so,$(notdir $(wildcard tests/plugins/*.c examples/plugin/*.c examples/middleware/c/*.c)))
vpath %.c tests/plugins examples/plugin examples/middleware/c
$(BUILD)/plugins/%.so: %.c
	@mkdir -p $(@D)
	$(compile) -shared -o $@ $<

# What the JavaScript worker and client of the examples import, and LangChain JS for random scenarios.
node_modules := $(patsubst %,examples/%/javascript/node_modules/.package-lock.json,workers clients)
random_modules := tests/random/node_modules/.package-lock.json
$(node_modules) $(random_modules): %/node_modules/.package-lock.json: %/package-lock.json
	@npm ci --prefix $* --ignore-scripts --no-audit --no-fund --loglevel error || { \
	  echo "npm ci in $* failed: the tests of JavaScript need npm's registry" >&2; exit 1; }
	@touch $@

# The cases that take longest: begun first, so that none is waited for alone at the end.
LONG_unit        := command_tool items lua_sandbox redis_trouble broker_chaos
LONG_integration := watchdogs languages webhook webhook_lives thread_past threads runs fleet interrupts_cli bad_input security schedule cli \
                    thread_end serve_streams serve_losses
LONG_kill        := redis links redis_full everything coordinator interrupts cancel rolling dead workers

# Each check is a process of its own, which costs little; but not with sanitizers, where more than half of all
# time of the unit tests went into looking for leaks at the end of each. There the checks of a case share
# a process, but for the cases whose checks end theirs, change what belongs to all of it, or leave a fixture.
FORKED_unit := bedrock broker_pins curve fiber_limits gate http_failures process process_group provider_table resolver secrecy \
               service settings shell_tool spec_file
forks = $(if $(SAN),$(if $(FORKED_$1),no,yes),yes)

# $(call each_case,N,kill): the cases of a suite, N at a time: most of it is waiting. Of a case that
# passes the last line is shown, of one that fails all it said. CASE_SECONDS: what bounds a case whose checks
# have no limit of their own, since they are not forked. LEFT_OUT: cases that are not run. None begins, for
# a minute at most, while more than LOAD_MAX processes a core want to run: on a machine that has become slow the fleets of
# all cases at once would take each other for dead.
CASE_SECONDS := 600
LOAD_MAX := 6
load_max := $(shell echo $$(($(LOAD_MAX) * $$(nproc))))
define each_case
(printf '%s\n' $(LONG_$2) && sed -n 's/^CASE(\(.*\))/\1/p' tests/$2/cases.h) | \
  awk 'BEGIN { n = split("$(LEFT_OUT)", out); while (n > 0) seen[out[n--]] = 1 } !seen[$$0]++' | \
  PATH=$(abspath $(BUILD))/bin:$(abspath $(BUILD)):$$PATH xargs -P $1 -I{} sh -c \
  'for second in $$(seq 60); do read -r load rest </proc/loadavg; [ "$${load%%.*}" -ge $(load_max) ] || break; sleep 1; done; \
   case " $(FORKED_$2) " in *" {} "*) fork=yes;; *) fork=$(call forks,$2);; esac; \
   said=$$(CK_FORK=$$fork CK_RUN_CASE={} timeout $(CASE_SECONDS) $(BUILD)/tests-$2 2>&1); status=$$?; \
   if [ $$status = 0 ]; then printf "%s: {}\n" "$$(echo "$$said" | grep -a ^100%)"; else echo "$$said"; fi; exit $$status'
endef

.PHONY: check-unit
check-unit: $(BUILD)/tests-unit $(plugins)
	@$(call each_case,2,unit)

# The tables of docs/middleware that are made from what the middleware declares, and that of
# docs/metrics.md and those of docs/tracing.md; check-unit says when a page has another one.
.PHONY: pages
pages: $(BUILD)/tests-unit
	@WRITE_PAGES=1 CK_RUN_CASE=middleware_docs $(BUILD)/tests-unit
	@WRITE_PAGES=1 CK_RUN_CASE=metrics_docs $(BUILD)/tests-unit
	@WRITE_PAGES=1 CK_RUN_CASE=trace_docs $(BUILD)/tests-unit
	@WRITE_PAGES=1 CK_RUN_CASE=provider_table $(BUILD)/tests-unit

# Against the real programs, found through PATH.
integration_parts := $(addprefix $(BUILD)/,scripted-server small-worker await-file chaos-shim.so chaos-proxy)
.PHONY: check-integration
check-integration: binaries $(integration_parts) $(BUILD)/tests-integration $(plugins) $(node_modules)
	@$(call each_case,4,integration)

# Processes that die with 50 runs in flight.
.PHONY: check-kill
check-kill: binaries $(BUILD)/await-file $(BUILD)/tests-kill $(plugins)
	@$(call each_case,3,kill)

# As a user has it: installed, and middleware built against what was installed.
.PHONY: check-install
check-install: binaries
	tests/install/run.sh $(abspath $(BUILD)) $(if $(SAN),SAN=1) $(if $(TSAN),TSAN=1)

# What `make` does with files that come and go.
.PHONY: check-make
check-make:
	@tests/make/run.sh $(abspath $(BUILD))

# The simulator: the pure state machines, built with the planted bugs' places in them, and store/*.lua
# in an embedded Lua (tests/sim/world.h, docs/internals/testing.md).
SIM_FOLDERS := broker peer tests/sim
sim_sources  = $(filter-out broker/main.c broker/broker.c $(addprefix peer/,caller.c links.c model_wish.c parcel.c peer.c worker.c profiles.c), \
                 $(wildcard $(addsuffix /*.c,$(SIM_FOLDERS))))
sim_objects  = $(patsubst %.c,$(BUILD)/sim/%.o,$(sim_sources))
$(BUILD)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(compile) -DFLOTILLA_PLANTED -c -o $@ $<

# LuaJIT's functions have the names of Lua's, whose library stays out of this one.
$(BUILD)/tests-sim: $$(sim_objects) $(library)
	$(link) -o $@ $^ $(filter-out -llua5.4,$(LDLIBS)) $(shell pkg-config --libs luajit)

# Part of make test; fewer under the sanitizers, which make each ten times as slow.
CHECK_SCHEDULES = $(if $(SAN),5000,60000)
PLANTED_SCHEDULES ?= 40000
.PHONY: check-sim sim sim-planted
check-sim: $(BUILD)/tests-sim
	$(BUILD)/tests-sim --failed-once
	$(BUILD)/tests-sim --schedules $(CHECK_SCHEDULES)

SCHEDULES ?= 1000000
SEED ?= 1
sim: deps
	@$(MAKE) --no-print-directory $(BUILD)/tests-sim
	$(BUILD)/tests-sim --schedules $(SCHEDULES) --seed $(SEED)

sim-planted: deps
	@$(MAKE) --no-print-directory $(BUILD)/tests-sim
	$(BUILD)/tests-sim --planted all --schedules $(PLANTED_SCHEDULES)

# The protocol's model: right as it is, wrong with any rule left out. MODEL=large: one fault more.
.PHONY: model
model:
	@$(MAKE) --no-print-directory deps DEBIAN=spin
	tests/model/run.sh $(abspath $(BUILD))/model $(if $(filter large,$(MODEL)),3,2)

# Where there are threads beside the loop's (libzmq's, the watchdog's, the resolver's), and processes
# that talk: to be run with TSAN=1. Kill tests and the rest go with TSAN=1 as well, on a machine with time.
RACE_UNITS := broker_core curve fiber fiber_limits http http_failures loop outbox process process_group redis \
              redis_session resolver secrecy service socket socket_signals watchdog
RACE_RUNS  := fleet wire
.PHONY: check-races
check-races: binaries $(integration_parts) $(BUILD)/tests-unit $(BUILD)/tests-integration $(plugins)
	@for case in $(RACE_UNITS); do CK_RUN_CASE=$$case $(BUILD)/tests-unit || exit 1; done
	@for case in $(RACE_RUNS); do \
	  CK_RUN_CASE=$$case PATH=$(abspath $(BUILD))/bin:$(abspath $(BUILD)):$$PATH $(BUILD)/tests-integration || exit 1; \
	done

# An OpenAI-compatible server that plays a script (tests/support/scripted_server.h).
$(BUILD)/scripted-server: $(BUILD)/tests/servers/scripted_server.o $(support) $(library)
	$(link) -o $@ $^ $(LDLIBS) $(CHECK_LIBS)

# The real fleet under random faults, from a seed (docs/reliability.md, "Under attack").
chaos_parts := $(addprefix $(BUILD)/,tests-chaos chaos-proxy chaos-effect chaos-shim.so model-server)
$(BUILD)/tests-chaos: $$(call objects,tests/chaos) $(support) $(library)
	$(link) -o $@ $^ $(LDLIBS) $(CHECK_LIBS)
$(BUILD)/chaos-proxy: $(BUILD)/tests/chaos/parts/proxy.o $(BUILD)/tests/chaos/parts/link.o
	$(link) -o $@ $^ $(shell pkg-config --libs libsystemd)
$(BUILD)/chaos-effect: tests/chaos/parts/effect.c
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $<
# Preloaded into programs that are not ours: no sanitizers.
$(BUILD)/chaos-shim.so: tests/chaos/parts/shim.c tests/chaos/parts/shim.h
	$(CC) -std=c11 -D_GNU_SOURCE -fPIC -shared $(WARNINGS) $(CFLAGS) -o $@ $< -ldl

# make chaos MINUTES=20 SEED=7 REPORT=file; SEED=0 is a new one each time. make chaos-takeover
# KILLS=200 kills one by one and measures how soon others go on.
MINUTES ?= 2
KILLS   ?= 200
# The simulator has a seed of its own that is always the same.
chaos_seed = $(if $(filter command environment,$(firstword $(origin SEED))),$(SEED),0)
chaos_report = $(if $(REPORT),--report $(REPORT))
.PHONY: chaos chaos-takeover chaos-parts check-chaos
chaos-parts: binaries $(chaos_parts)
chaos chaos-takeover: deps
	@$(MAKE) --no-print-directory chaos-parts
	$(BUILD)/tests-chaos --seed $(chaos_seed) $(chaos_report) $(if $(SAN),--plain) \
	  $(if $(filter %takeover,$@),--takeover $(KILLS) --rate 60,--minutes $(MINUTES))
check-chaos: chaos

# A worker whose calls do what the wire's tests want.
$(BUILD)/small-worker: $(BUILD)/tests/servers/small_worker.o $(library)
	$(link) -o $@ $^ $(LDLIBS)

# What tools of tests wait with; it is begun often, is small, and has a tool's limits, under which no sanitizer starts.
$(BUILD)/await-file $(BUILD)/tests/servers/await_file.o: SANITIZE :=
$(BUILD)/await-file: $(BUILD)/tests/servers/await_file.o
	$(link) -o $@ $^

# The conformance harness and what it plays with: a tool worker with scripted outcomes, the probe
# as the shared object a user would build.
$(BUILD)/outcome-worker: $(BUILD)/tests/servers/outcome_worker.o $(support) $(library)
	$(link) -rdynamic -Wl,--whole-archive $(library) -Wl,--no-whole-archive -o $@ $< $(support) $(LDLIBS) $(CHECK_LIBS)

$(BUILD)/probe.so: NO_PIE :=
$(BUILD)/probe.so: $$(call objects,tests/conformance/probe) $(BUILD)/tests/support/probe_log.o
	$(link) -shared -o $@ $^

SCENARIOS ?= tests/conformance/scenarios
conformance_parts := $(BUILD)/tests-conformance $(BUILD)/scripted-server $(BUILD)/outcome-worker $(BUILD)/probe.so
.PHONY: conformance-parts
conformance-parts: binaries $(conformance_parts)
conformance: deps
	@$(MAKE) --no-print-directory conformance-parts
	$(BUILD)/tests-conformance $(SCENARIOS) --only "$(ONLY)" --dump "$(DUMP)"

# Random scenarios, which the real LangChain JS plays first, and then the fleet (tests/random): seeds SEED and those behind it.
COUNT ?= 100
.PHONY: conformance-random
conformance-random: deps
	@$(MAKE) --no-print-directory conformance-parts $(random_modules)
	@node tests/random/main.mjs $(abspath $(BUILD)) --seed $(SEED) --count $(COUNT)

# The groups that are whole; `make conformance` plays all of them.
WHOLE_GROUPS := core-loop,hooks-order,wrap-model,wrap-tool,retries,todo,jumps,state,structured-output,summarization,context-editing,hitl,limits,fallback,tool-selector,tool-emulator,pii,memory,rubric,skills,together,combined,deepagents,deepagents-files,deepagents-subagents,deepagents-stacks,deepagents-summarization
# All of them built, as for what then runs several at once.
test_programs := binaries $(BUILD)/tests-unit $(BUILD)/tests-integration $(BUILD)/tests-kill $(BUILD)/tests-sim \
                 $(integration_parts) $(plugins) $(node_modules) conformance-parts
.PHONY: built
built: deps
	@$(MAKE) --no-print-directory -j2 $(test_programs) chaos-parts

# Two suites at a time: most of each is waiting, and of those that wait most, which are first, several
# cases run at once.
.PHONY: check-conformance
check-conformance:
	@$(MAKE) --no-print-directory conformance ONLY=$(WHOLE_GROUPS)
test: deps
	@$(MAKE) --no-print-directory -j2 $(test_programs)
	@$(MAKE) --no-print-directory -k -j2 check-kill check-integration check-unit check-conformance check-sim check-install check-make

# What of `make test SAN=1` finds most for its time: without LangChain's behaviour, the simulator and the kill
# tests, which run the same code, and without the cases of which most is Node and Python at work; before a release all of it.
.PHONY: sanitized sanitized-built
sanitized-built: deps
	@$(MAKE) --no-print-directory -j2 binaries $(BUILD)/tests-unit $(BUILD)/tests-integration \
	  $(integration_parts) $(plugins)
sanitized: sanitized-built
	@$(MAKE) --no-print-directory -k -j2 LEFT_OUT="languages serve_sdk" check-integration check-unit
