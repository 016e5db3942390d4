# How the fuzzers are built and run; included by the Makefile. One file fuzz_<what>.c each, with a corpus
# and perhaps a dictionary of its own; what two of them need is in the other files here.
#
#   make fuzz                                      each for SECONDS_EACH=10 seconds, two at a time
#   make fuzz FUZZ="fuzz_json fuzz_url" SECONDS_EACH=600
#   make fuzz SEED=1                               the same inputs each time, as far as the time goes
#   make fuzz-corpus FUZZ=fuzz_json                adds what was found, as little as covers as much

fuzz_names = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ      ?= $(fuzz_names)
SECONDS_EACH ?= 10
SEED      ?= 0

# From the objects of the sanitized tests: fuzzers are always built with SAN=1, in build/san/fuzz.
ifndef SAN
.PHONY: fuzzers fuzz-corpus
fuzz fuzzers fuzz-corpus:
	@$(MAKE) --no-print-directory SAN=1 $@
else
$(BUILD)/tests/fuzz/%.o: CFLAGS := $(CFLAGS)
$(BUILD)/tests/fuzz/%.o: TRACED := $(TRACED)

fuzz_helpers = $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c)))
$(BUILD)/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $$(fuzz_helpers) $(programs) $(support) $(library)
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer $(fuzz_link) -o $@ $^ $(LDLIBS)

# What the store asks Redis is answered by the fuzzer.
$(BUILD)/fuzz/fuzz_catalog: fuzz_link = -Wl,--wrap=redis_call,--wrap=redis_trouble
$(BUILD)/fuzz/fuzz_items: fuzz_link = -Wl,--wrap=redis_call,--wrap=redis_trouble \
  -Wl,--wrap=fiber_start,--wrap=fiber_sleep,--wrap=fiber_yield,--wrap=fiber_loop,--wrap=fiber_shield \
  -Wl,--wrap=loop_now_ms
$(BUILD)/fuzz/fuzz_store: fuzz_link = -Wl,--wrap=redis_call,--wrap=redis_trouble,--wrap=redis_loop

# What a user is told is not shown.
$(BUILD)/fuzz/fuzz_answer: fuzz_link = -Wl,--wrap=complain

# Workers and Redis are the fuzzer.
$(BUILD)/fuzz/fuzz_result: fuzz_link = -Wl,--wrap=caller_call,--wrap=caller_stored,--wrap=caller_disown \
  -Wl,--wrap=run_commit,--wrap=run_commit_end,--wrap=run_store,--wrap=run_stopped_by,--wrap=fiber_start,--wrap=fiber_wake

# The other worker is the fuzzer.
$(BUILD)/fuzz/fuzz_remote_tool: fuzz_link = -Wl,--wrap=worker_nested_call

# The provider is the fuzzer; and as below.
$(BUILD)/fuzz/fuzz_call: fuzz_link = -Wl,--wrap=provider_table_find,--wrap=hook_sleep

# It runs on no fiber: a sleep ends at once, or is cancelled.
$(BUILD)/fuzz/fuzz_lua: fuzz_link = -Wl,--wrap=hook_sleep

.PHONY: fuzzers fuzz-corpus
fuzzers: $(addprefix $(BUILD)/fuzz/,$(FUZZ))
fuzz: deps
	@$(MAKE) --no-print-directory -j2 fuzzers
	SEED=$(SEED) tests/fuzz/run.sh $(BUILD)/fuzz $(SECONDS_EACH) $(FUZZ)

fuzz-corpus: fuzzers
	tests/fuzz/merge.sh $(BUILD)/fuzz $(FUZZ)
endif
