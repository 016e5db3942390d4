# How the benchmarks are built and run; included by the Makefile.

# The provider of the benchmarks (bench/model_server.c).
$(BUILD)/model-server: $(addprefix $(BUILD)/bench/,model_server.o model_replies.o usage.o)
	$(link) -o $@ $^ $(shell pkg-config --libs libsystemd)

# What a whole fleet costs, scenario by scenario; and an hour of it.
bench_rig := $(addprefix $(BUILD)/,$(addprefix bench/,line.o load.o rig.o rig_agent.o usage.o) tests/support/children.o) $(library)
$(BUILD)/bench-fleet: $(addprefix $(BUILD)/bench/,bench.o scenarios.o measure.o results.o) $(bench_rig)
	$(link) -o $@ $^ $(LDLIBS)

$(BUILD)/bench-soak: $(BUILD)/bench/soak.o $(bench_rig)
	$(link) -o $@ $^ $(LDLIBS)

# What agents of the benchmarks have beside the programs' own: layers and a tool.
$(BUILD)/plugins/bench_layer.so: bench/plugin/bench_layer.c
	@mkdir -p $(@D)
	$(compile) -shared -o $@ $<

# What layers of middleware that do nothing cost, beside LangChain JS: a table (bench/layers.sh).
$(BUILD)/bench-layers: $(addprefix $(BUILD)/bench/,layers.o line.o usage.o) $(library)
	$(link) -rdynamic -o $@ $^ $(LDLIBS)
.PHONY: bench-layers
bench-layers: $(BUILD)/bench-layers
	@bench/layers.sh $(abspath $(BUILD))

# What a turn more costs on a long thread, beside LangChain JS and its Postgres checkpointer: a table
# (bench/threads.sh) [TURNS=3 REPEAT=2].
$(BUILD)/bench-threads: $(addprefix $(BUILD)/bench/,threads.o bare.o) $(bench_rig)
	$(link) -o $@ $^ $(LDLIBS)
$(BUILD)/bench-commits: $(BUILD)/bench/commits.o $(BUILD)/tests/support/children.o $(library)
	$(link) -o $@ $^ $(LDLIBS)
.PHONY: bench-threads
bench-threads: binaries $(BUILD)/bench-threads $(BUILD)/bench-commits $(BUILD)/model-server
	@bench/threads.sh $(abspath $(BUILD)) $(or $(TURNS),3) $(or $(REPEAT),2)

# The short list of scenarios, or ONLY=... of all of them, or rows of your own:
# RUNS=3000 INFLIGHT=1,16,64,256 FSYNC=everysec,always LATENCY=0 WAITING=1000; ROUNDS=3 SECONDS=3
# With ONLY, INFLIGHT or WAITING that is all; else layers, threads and peers come behind it.
comma := ,
bench_list = $(foreach item,$(subst $(comma), ,$(2)),--$(1)=$(item))
bench_options = $(call bench_list,only,$(ONLY)) $(call bench_list,seconds,$(SECONDS)) \
  $(call bench_list,runs,$(RUNS)) $(call bench_list,in-flight,$(INFLIGHT)) \
  $(call bench_list,fsync,$(FSYNC)) $(call bench_list,latency-ms,$(LATENCY)) \
  $(call bench_list,rounds,$(ROUNDS)) $(call bench_list,waiting,$(WAITING)) \
  --out=$(BUILD)/bench/fleet.tsv
# What a whole list prints is kept for the README (bench/readme.sh).
bench_keep = $(if $(ONLY)$(INFLIGHT)$(FSYNC)$(WAITING),,| tee $(BUILD)/bench/fleet.txt)
bench_rows = $(ONLY)$(INFLIGHT)$(WAITING)
bench bench-full bench-soak: SHELL := /bin/bash
bench bench-full bench-soak: .SHELLFLAGS := -o pipefail -c
.PHONY: bench-parts bench-full
bench-parts: binaries $(BUILD)/bench-fleet $(BUILD)/model-server $(BUILD)/plugins/bench_layer.so
bench: $(if $(bench_rows),deps,bench-deps)
	@$(MAKE) --no-print-directory bench-parts
	@$(BUILD)/bench-fleet $(bench_options) $(bench_keep)
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-layers
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-threads
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-compare
bench-full: $(if $(bench_rows),deps,bench-deps)
	@$(MAKE) --no-print-directory bench-parts
	@$(BUILD)/bench-fleet --full $(bench_options) $(bench_keep)
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-layers
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-threads TURNS=5 REPEAT=5
	@[ -n "$(bench_rows)" ] || $(MAKE) --no-print-directory bench-compare

# MINUTES=60 RATE=(half of what the fleet does with 64 in flight) FSYNC=everysec SAMPLE=60 KEEP=30
.PHONY: bench-soak
bench-soak: binaries $(BUILD)/bench-soak $(BUILD)/model-server
	@$(BUILD)/bench-soak $(call bench_list,minutes,$(MINUTES)) $(call bench_list,rate,$(RATE)) \
	  $(call bench_list,fsync,$(FSYNC)) $(call bench_list,sample-s,$(SAMPLE)) \
	  $(call bench_list,keep-s,$(KEEP)) --out=$(BUILD)/bench/soak.tsv | tee $(BUILD)/bench/soak.txt

-include bench/peers.mk
