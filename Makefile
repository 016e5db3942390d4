# make               the programs, in build/bin
# make demo          a fleet plays the login/register story from start to end
# make test          unit, integration, conformance and kill tests, simulated schedules
# make sim           a million simulated schedules [SCHEDULES=n SEED=s]
# make model         the protocol's model, and it without each of its rules, by Spin [MODEL=large]
# make sim-planted   every planted bug must be found by the simulator
# make conformance   LangChain's behaviour, scenario by scenario [SCENARIOS=dir ONLY=group/name DUMP=dir]
# make conformance-random  random scenarios, played by LangChain JS first (Node 20, npm; not part of test) [SEED=n COUNT=100]
# make chaos         the fleet under faults at random [MINUTES=2 SEED=s]; chaos-takeover [KILLS=200] measures
# make bench         runs per second, latency, CPU and memory of a fleet, in turns with its peers (docs/benchmarks.md)
# make lint          formatting, clang-tidy (TIDY=product: not of the tests), shell scripts
# make fuzz          every fuzzer for SECONDS_EACH=10 seconds
# make compose-test  docker-compose.yml brought up for real, and killed (root; not part of test)
# make kubernetes-test  the pods of examples/kubernetes brought up, and killed (root; not part of test)
# make pages         the tables in docs that are made from the code
# make install       to $(DESTDIR)$(PREFIX)
# make deb           Debian packages in build/deb; deb-test has a bare Debian install and run them (root; not part of test)
# make deps          installs the Debian packages that are missing; all above but pages and install call it
# Any of them with SAN=1: address, undefined-behaviour and leak sanitizers, in build/san, by clang; with TSAN=1:
# data races, in build/tsan.

PREFIX   ?= /usr/local
# With SAN=1 what compiles faster: lines are what a report needs of the debugger's information.
CFLAGS   ?= $(if $(SAN),-O1 -g1,-O2 -g)
PROGRAMS := broker coordinator hub worker-model worker-tools flotilla
SHARED   := proto runtime $(addprefix runtime/,http process redis trace yaml zmq) middleware/schema middleware middleware/lua middleware/builtin agent store peer
# The command line, which no other program includes; folder by folder in ARCHITECTURE.md.
CLI      := cli $(addprefix cli/,agents crons fleet http interrupts keys monitor runs serve serve/access serve/rpc serve/streams threads)
PACKAGES := libczmq libzmq hiredis libcurl libuv yajl yaml-0.1 libsystemd libpcre2-8 lua5.4 \
            libsodium libssl libcrypto zlib
# For `flotilla` alone, whose header needs no flags: the processes of the fleet serve no HTTP.
CLI_PACKAGES := libmicrohttpd
DEBIAN   := gcc clang lld libclang-rt-14-dev make pkg-config libczmq-dev libzmq3-dev \
            libhiredis-dev libcurl4-openssl-dev libuv1-dev libyajl-dev libyaml-dev \
            libsystemd-dev libpcre2-dev liblua5.4-dev libsodium-dev libmicrohttpd-dev libssl-dev zlib1g-dev openssl libevent-dev libmsgpack-dev check redis-server redis-tools libglib2.0-0 tzdata \
            json-schema-test-suite libluajit-5.1-dev iproute2 iptables clang-format clang-tidy \
            ripgrep bubblewrap shellcheck python3-zmq python3-msgpack $(if $(shell command -v node && command -v npm),,nodejs npm)
WARNINGS := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wundef -Wvla -Wformat=2 \
            -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wpointer-arith

BUILD ?= build
ifdef SAN
override BUILD := $(BUILD)/san
# By clang: what a fuzzer is linked from is then compiled once, for it and for the tests (tests/fuzz/fuzz.mk). What there
# is to be warned of, gcc says without sanitizers.
CC       := clang
WARNINGS := -w
# Defined as gcc defines it.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -D__SANITIZE_ADDRESS__
# Tells a fuzzer where it has been.
TRACED   := -fsanitize=fuzzer-no-link
# A program at a place of its own begins sooner: the sanitizer's tables alone have 150,000 addresses in them.
NO_PIE   := -no-pie
# How many callers of each malloc are noted: a tenth of all time goes into 30.
export ASAN_OPTIONS ?= malloc_context_size=10
endif
ifdef TSAN
override BUILD := $(BUILD)/tsan
SANITIZE := -fsanitize=thread -fno-omit-frame-pointer
export TSAN_OPTIONS := suppressions=$(CURDIR)/tests/tsan.supp:history_size=4
export CK_TIMEOUT_MULTIPLIER ?= 6
endif
# A test's limit of time finds what hangs; it is no measure of a slow machine.
export CK_TIMEOUT_MULTIPLIER ?= 3

# $(call once,name,value): value, expanded when it is first wanted and never again. pkg-config is asked so: it may
# not be there before `deps`, and need not be asked with each of a thousand objects.
once = $(eval $(1) := $(2))$($(1))
package_flags = $(call once,package_flags,$(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PACKAGES))))
# Our headers are found by quotes only; none may have the name of a system header.
include_flags = $(addprefix -iquote ,$(SHARED) tests/support) $(package_flags)
# For plugins objects are -fPIC, but none replaces a function of the programs: within a file gcc may inline.
compile  = $(CC) -std=c11 -D_GNU_SOURCE -fPIC $(include_flags) $(WARNINGS) $(CFLAGS) -fno-semantic-interposition $(SANITIZE) -MMD -MP
# Links in a third of the time of the usual one, and what has the sanitizers in it in half.
LDFLAGS ?= $(if $(shell command -v ld.lld),-fuse-ld=lld)
link     = $(CC) $(NO_PIE) $(SANITIZE) $(LDFLAGS)
LDLIBS   = $(call once,LDLIBS,$(shell pkg-config --libs $(PACKAGES)) -lm -ldl)
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

# $(call unlike,archive,objects): a target that is always made, where the archive has other objects than
# these. Times do not tell: one `make` may make the archive, with the files that were there when it began,
# after another has made the object of a new file; and of a file that went nothing is new.
unlike = $(if $(findstring [$(notdir $(2))],[$(shell $(AR) t $(1) 2>/dev/null)]),,always)
.PHONY: always
# $(call archive,operation,objects): makes $@ in one piece: who links beside us, in another `make`, finds all of it.
archive = @$(AR) $(1) $@.$$$$ $(2) && mv $@.$$$$ $@

# The Redis function library travels inside the programs: store/store.c puts its files one behind the other.
LUA_OBJECTS = $(patsubst %,$(BUILD)/%.o,$(wildcard store/*.lua))

library_objects := $(call objects,$(SHARED)) $(LUA_OBJECTS)
$(library): $(library_objects) $(call unlike,$(library),$(library_objects))
	$(call archive,rcs,$(library_objects))

$(BUILD)/store/%.lua.o: store/%.lua
	@mkdir -p $(@D)
	ld -r -b binary -z noexecstack -o $@ $<

# So does what `flotilla serve` says of its API.
said_objects := $(addprefix $(BUILD)/cli/serve/,openapi.yaml.o docs.html.o)
CLI_OBJECTS = $(call objects,$(CLI)) $(said_objects)
$(said_objects): $(BUILD)/%.o: %
	@mkdir -p $(@D)
	ld -r -b binary -z noexecstack -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(compile) $(TRACED) -c -o $@ $<

# Half of all lines, compiled as often as they run. With sanitizers not optimised at all: what the compiler warns of
# when it optimises, it has said without them.
test_cflags := $(if $(SAN),$(subst -O1,-O0,$(CFLAGS)),$(subst -O2,-O1,$(CFLAGS)))
$(BUILD)/tests/%.o: CFLAGS := $(test_cflags)
$(BUILD)/tests/%.o: TRACED :=

.SECONDEXPANSION:
cli_flags = $(addprefix -iquote ,$(CLI))
$(BUILD)/cli/%.o $(BUILD)/tests/unit/%.o $(BUILD)/tests/fuzz/%.o: include_flags += $(cli_flags)
$(BUILD)/bin/flotilla: $$(CLI_OBJECTS) $(library)
	@mkdir -p $(@D)
	$(link) -rdynamic -Wl,--whole-archive $(library) -Wl,--no-whole-archive -o $@ $(filter-out $(library),$^) \
	  $(LDLIBS) $(shell pkg-config --libs $(CLI_PACKAGES))

# Broker and coordinator in one process: their files without their mains.
hub_objects = $(call objects,hub) $(filter-out %/main.o,$(call objects,broker coordinator))
hub_flags = $(addprefix -iquote ,broker coordinator)
$(BUILD)/hub/%.o: include_flags += $(hub_flags)
$(BUILD)/bin/hub: $$(hub_objects) $(library)
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

-include tests/fuzz/fuzz.mk

tidy_flags = -std=c11 -D_GNU_SOURCE $(include_flags) $(hub_flags) $(cli_flags)
# One file a process: in the next file the analyzer of clang 14 no longer knows va_start.
# In CI (TIDY=product) the analyzer looks less deep (mode=shallow), which takes a seventh of the time; before a release all of it.
TIDY ?= all
tidy_flags += $(if $(filter product,$(TIDY)),-Xclang -analyzer-config -Xclang mode=shallow)
lint: deps
	clang-format --dry-run -Werror $$(git ls-files '*.[ch]')
	git ls-files '*.c' $(if $(filter product,$(TIDY)),':!tests' ':!bench') | xargs -I{} -P2 clang-tidy --quiet {} -- $(tidy_flags)
	git ls-files '*.sh' .ci/run | xargs -r shellcheck

# The fleet of docker-compose.yml, brought up for real, and killed: needs root, a quarter of an hour the
# first time, and no registry.
.PHONY: compose-test kubernetes-test
compose-test: all
	tests/compose/run.sh $(BUILD)/bin $(BUILD)/compose
kubernetes-test: all
	tests/kubernetes/run.sh $(BUILD)/bin $(BUILD)/compose

# What a middleware of a user's own may include (docs/middleware.md); its symbols are in the programs.
PUBLIC_HEADERS := $(patsubst %,middleware/%.h,middleware hooks_model hooks_tool hooks_turn) $(patsubst %,proto/%.h,arena chat fault utf8 value)
middleware_abi  = $(shell sed -n 's/^\#define MIDDLEWARE_ABI \([0-9]*\)u$$/\1/p' middleware/middleware.h)
install: binaries
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/flotilla $(DESTDIR)$(PREFIX)/share/flotilla
	install $(BUILD)/bin/flotilla $(DESTDIR)$(PREFIX)/bin/flotilla
	for p in broker coordinator hub worker-model worker-tools; do \
	  install $(BUILD)/bin/$$p $(DESTDIR)$(PREFIX)/bin/flotilla-$$p; done
	install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(PREFIX)/include/flotilla
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include/flotilla' 'abi=$(middleware_abi)' '' \
	  'Name: flotilla' 'Description: what a shared object with middleware for Flotilla includes' \
	  'Version: $(middleware_abi)' 'Cflags: -I$${includedir}' >$(DESTDIR)$(PREFIX)/lib/pkgconfig/flotilla.pc
	cp -r examples $(DESTDIR)$(PREFIX)/share/flotilla/
	rm -rf $(DESTDIR)$(PREFIX)/share/flotilla/examples/*/javascript/node_modules
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 cli/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/flotilla
	for p in broker coordinator hub worker-model worker-tools; do \
	  ln -sf flotilla $(DESTDIR)$(PREFIX)/share/bash-completion/completions/flotilla-$$p; done

# Debian packages, by debian/ (docs/operations.md says how to install them).
.PHONY: deb deb-test
deb: deps
	@dpkg-query -W debhelper help2man >/dev/null 2>&1 || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debhelper help2man >/dev/null
	debian/rules binary DEB_TO=$(CURDIR)/build/deb
	@dh_clean
	@ls build/deb/*.deb
deb-test: deb
	tests/install/deb.sh build/deb $(BUILD)/compose

clean:
	rm -rf build

# Those of this build alone: of each make half of the time goes into them.
-include $(shell find $(BUILD) \( -path $(BUILD)/san -o -path $(BUILD)/tsan -o -path $(BUILD)/fuzz \) \
  -prune -o -name '*.d' -print 2>/dev/null)
