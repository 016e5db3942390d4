# make               the programs, in build/bin
# make demo          a fleet plays the login/register story from start to end
# make test          unit, integration, conformance and kill tests
# make conformance   LangChain's behaviour, scenario by scenario [SCENARIOS=dir ONLY=group/name DUMP=dir]
# make bench         runs per second, latency, CPU and memory of a fleet
# make lint          formatting, clang-tidy, shell scripts
# make fuzz          every fuzzer for SECONDS_EACH=10 seconds (clang)
# make install       to $(DESTDIR)$(PREFIX)
# make deps          installs the Debian packages that are missing; the others call it
# Any of them with SAN=1: address, undefined-behaviour and leak sanitizers, in build/san.

PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g
PROGRAMS := broker coordinator worker-model worker-tools flotilla
SHARED   := proto runtime middleware agent store peer
PACKAGES := libczmq libzmq msgpack hiredis libcurl libuv yajl libfyaml libsystemd libpcre2-8
DEBIAN   := gcc clang libclang-rt-14-dev make pkg-config libczmq-dev libzmq3-dev libmsgpack-dev \
            libhiredis-dev libcurl4-openssl-dev libuv1-dev libyajl-dev libfyaml-dev \
            libsystemd-dev libpcre2-dev libevent-dev check redis-server redis-tools \
            json-schema-test-suite clang-format clang-tidy shellcheck
WARNINGS := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wundef -Wvla -Wformat=2 \
            -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wpointer-arith

BUILD ?= build
ifdef SAN
override BUILD := $(BUILD)/san
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

# Our headers are found by quotes only; none may have the name of a system header.
include_flags = $(addprefix -iquote ,$(SHARED) tests/support) \
                $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PACKAGES)))
compile  = $(CC) -std=c11 -D_GNU_SOURCE -fPIC $(include_flags) $(WARNINGS) $(CFLAGS) $(SANITIZE) -MMD -MP
link     = $(CC) $(SANITIZE) $(LDFLAGS)
LDLIBS   = $(shell pkg-config --libs $(PACKAGES)) -lm -ldl
library  := $(BUILD)/libshared.a
objects   = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(addsuffix /*.c,$(1))))
binaries := $(addprefix $(BUILD)/bin/,$(PROGRAMS))

.SECONDARY:
.PHONY: all deps test demo conformance bench fuzz lint install clean check-unit
all: deps
	@$(MAKE) --no-print-directory binaries

.PHONY: binaries
binaries: $(binaries)

deps:
	@missing=; for p in $(DEBIAN); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; [ -z "$$missing" ] || { echo "installing$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; }

$(library): $(call objects,$(SHARED)) $(BUILD)/store/fleet.lua.o
	@rm -f $@
	$(AR) rcs $@ $^

# The Redis function library travels inside the programs.
$(BUILD)/store/fleet.lua.o: store/fleet.lua
	@mkdir -p $(@D)
	ld -r -b binary -z noexecstack -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(compile) -c -o $@ $<

.SECONDEXPANSION:
$(BUILD)/bin/flotilla: $$(call objects,cli) $(library)
	@mkdir -p $(@D)
	$(link) -rdynamic -Wl,--whole-archive $(library) -Wl,--no-whole-archive -o $@ $(filter-out $(library),$^) $(LDLIBS)

$(BUILD)/bin/%: $$(call objects,$$*) $(library)
	@mkdir -p $(@D)
	$(link) -rdynamic -Wl,--whole-archive $(library) -Wl,--no-whole-archive -o $@ $(filter-out $(library),$^) $(LDLIBS)

# Needs nothing before it: installs, builds, starts a fleet, runs an agent, ends the fleet.
demo: all
	examples/demo.sh $(BUILD)/bin $(BUILD)/demo

-include tests/tests.mk
-include bench/bench.mk

FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_sources = $(filter-out %/main.c,$(wildcard $(addsuffix /*.c,$(SHARED) worker-model worker-tools) coordinator/submission.c))
$(BUILD)/fuzz/objects/%.o: %.c
	@mkdir -p $(@D)
	clang -std=c11 -D_GNU_SOURCE $(include_flags) -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/libfuzzed.a: $$(patsubst %.c,$(BUILD)/fuzz/objects/%.o,$$(fuzz_sources)) $(BUILD)/store/fleet.lua.o
	@rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/objects/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libfuzzed.a
	clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

SECONDS_EACH ?= 10
fuzz: deps
	@$(MAKE) --no-print-directory -j2 $(FUZZERS)
	@for f in $(notdir $(FUZZERS)); do \
	  mkdir -p $(BUILD)/fuzz/found/$$f; \
	  echo "fuzz: $$f"; \
	  $(BUILD)/fuzz/$$f -max_total_time=$(SECONDS_EACH) -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
	    -artifact_prefix=$(BUILD)/fuzz/found/$$f- $(BUILD)/fuzz/found/$$f $$(ls -d tests/fuzz/corpus/$$f 2>/dev/null) || exit 1; \
	done; echo "fuzz: $(words $(FUZZERS)) fuzzers, nothing found"

tidy_flags = -std=c11 -D_GNU_SOURCE $(include_flags)
lint: deps
	clang-format --dry-run -Werror $$(git ls-files '*.[ch]')
	git ls-files '*.c' | xargs -I{} -P2 clang-tidy --quiet {} -- $(tidy_flags)
	git ls-files '*.sh' .ci/run | xargs -r shellcheck

install: binaries
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/flotilla $(DESTDIR)$(PREFIX)/share/flotilla
	install $(BUILD)/bin/flotilla $(DESTDIR)$(PREFIX)/bin/flotilla
	for p in broker coordinator worker-model worker-tools; do \
	  install $(BUILD)/bin/$$p $(DESTDIR)$(PREFIX)/bin/flotilla-$$p; done
	install -m 644 proto/*.h proto/*.def middleware/*.h $(DESTDIR)$(PREFIX)/include/flotilla
	cp -r examples $(DESTDIR)$(PREFIX)/share/flotilla/

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
