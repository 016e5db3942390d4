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

fuzz_objects := $(BUILD)/fuzz/objects
fuzz_archive := $(BUILD)/fuzz/libfuzzed.a
fuzz_sanitize := address,undefined
# All of ours but the programs' main(), and of the command line what a fuzzer needs; q: two programs may have files of one name.
fuzz_cli := $(addprefix cli/,asks.c fleet_file.c show.c show_field.c tame.c interrupts/actions.c interrupts/decide.c \
  serve/assistant_body.c serve/command_body.c serve/streams/frames.c serve/streams/frames_calls.c serve/nul.c serve/run_body.c serve/shape.c \
  serve/streams/speech.c serve/access/tenant_name.c serve/access/token.c serve/access/token_key.c threads/state.c)
fuzz_sources = $(filter-out %/main.c,$(wildcard $(addsuffix /*.c,$(SHARED) broker coordinator worker-model worker-tools))) $(fuzz_cli) \
  tests/support/scripted_frames.c

$(fuzz_objects)/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 -D_GNU_SOURCE $(include_flags) $(cli_flags) -g1 -O1 \
	  -fsanitize=fuzzer-no-link,$(fuzz_sanitize) -fno-sanitize-recover=undefined -MMD -MP -c -o $@ $<
FUZZ_CC ?= clang

fuzzed = $(patsubst %.c,$(fuzz_objects)/%.o,$(fuzz_sources)) $(LUA_OBJECTS)
$(fuzz_archive): $$(fuzzed) $$(call unlike,$$@,$$(fuzzed))
	$(call archive,qcs,$(fuzzed))

fuzz_helpers = $(patsubst %.c,$(fuzz_objects)/%.o,$(filter-out tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c)))
$(BUILD)/fuzz/fuzz_%: $(fuzz_objects)/tests/fuzz/fuzz_%.o $$(fuzz_helpers) $(fuzz_archive)
	$(FUZZ_CC) -fsanitize=fuzzer,$(fuzz_sanitize) $(fuzz_link) $(LDFLAGS) -o $@ $^ $(LDLIBS)

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
