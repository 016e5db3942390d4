# How the tests are built and run; included by the Makefile.

CHECK_LIBS = $(shell pkg-config --libs check) $(shell pkg-config --libs libevent 2>/dev/null)

support := $(BUILD)/libsupport.a
$(support): $(call objects,tests/support)
	@rm -f $@
	$(AR) rcs $@ $^

# What the unit tests look at inside of programs: all but their main(). An archive, so that
# only what is tested is linked; q: two programs may have files of one name.
UNIT_PROGRAM_OBJECTS = $(filter-out %/main.o,$(call objects,broker worker-model worker-tools))
programs := $(BUILD)/libprograms.a
$(programs): $$(UNIT_PROGRAM_OBJECTS)
	@rm -f $@
	$(AR) qcs $@ $^

$(BUILD)/tests-unit: $$(call objects,tests/unit) $(support) $(programs) $(library)
	$(link) -rdynamic -o $@ $^ $(LDLIBS) $(CHECK_LIBS)

$(BUILD)/tests-%: $$(call objects,tests/$$*) $(support) $(library)
	$(link) -rdynamic -o $@ $^ $(LDLIBS) $(CHECK_LIBS)

# Shared objects that the registry's tests load, good and bad: the good one is the example's.
plugins := $(patsubst %.c,$(BUILD)/plugins/%.so,$(notdir $(wildcard tests/plugins/*.c examples/plugin/*.c)))
vpath %.c tests/plugins examples/plugin
$(BUILD)/plugins/%.so: %.c
	@mkdir -p $(@D)
	$(compile) -shared -o $@ $<

check-unit: $(BUILD)/tests-unit $(plugins)
	$(BUILD)/tests-unit

# Against the real programs, found through PATH.
.PHONY: check-integration
check-integration: binaries $(BUILD)/scripted-server $(BUILD)/small-worker $(BUILD)/tests-integration $(plugins)
	PATH=$(abspath $(BUILD))/bin:$(abspath $(BUILD)):$$PATH $(BUILD)/tests-integration

# Processes that die with 50 runs in flight; three cases at a time, since most of it is waiting.
.PHONY: check-kill
check-kill: binaries $(BUILD)/tests-kill
	@sed -n 's/^CASE(\(.*\))/\1/p' tests/kill/cases.h | xargs -P 3 -I{} sh -c \
	  'said=$$(CK_RUN_CASE={} $(BUILD)/tests-kill 2>&1); status=$$?; echo "$$said"; exit $$status'

# An OpenAI-compatible server that plays a script (tests/support/scripted_server.h).
$(BUILD)/scripted-server: $(BUILD)/tests/servers/scripted_server.o $(support) $(library)
	$(link) -o $@ $^ $(LDLIBS) $(CHECK_LIBS)

# A worker whose calls do what the wire's tests want.
$(BUILD)/small-worker: $(BUILD)/tests/servers/small_worker.o $(library)
	$(link) -o $@ $^ $(LDLIBS)

# The conformance harness and what it plays with: a tool worker with scripted outcomes, the probe
# as the shared object a user would build.
$(BUILD)/outcome-worker: $(BUILD)/tests/servers/outcome_worker.o $(support) $(library)
	$(link) -rdynamic -Wl,--whole-archive $(library) -Wl,--no-whole-archive -o $@ $< $(support) $(LDLIBS) $(CHECK_LIBS)

$(BUILD)/probe.so: $(BUILD)/tests/conformance/probe/probe.o $(BUILD)/tests/support/probe_log.o
	$(link) -shared -o $@ $^

SCENARIOS ?= tests/conformance/scenarios
conformance_parts := $(BUILD)/tests-conformance $(BUILD)/scripted-server $(BUILD)/outcome-worker $(BUILD)/probe.so
.PHONY: conformance-parts
conformance-parts: binaries $(conformance_parts)
conformance: deps
	@$(MAKE) --no-print-directory conformance-parts
	$(BUILD)/tests-conformance $(SCENARIOS) --only "$(ONLY)" --dump "$(DUMP)"

# The groups that are whole; `make conformance` plays all of them.
WHOLE_GROUPS := core-loop,hooks-order,wrap-model,wrap-tool,retries,todo,jumps,state
test: deps
	@$(MAKE) --no-print-directory -j2 binaries $(BUILD)/tests-unit $(BUILD)/tests-integration $(BUILD)/tests-kill conformance-parts
	@$(MAKE) --no-print-directory check-unit check-integration
	@$(MAKE) --no-print-directory conformance ONLY=$(WHOLE_GROUPS)
	@$(MAKE) --no-print-directory check-kill
