# What stands beside the fleet: the floor and the peers; included by bench.mk.

# What a fleet of this shape costs at the least (bench/floor/floor.h).
$(BUILD)/bench-floor: $(call objects,bench/floor) $(addprefix $(BUILD)/,$(addprefix bench/,line.o turn_options.o usage.o) tests/support/children.o) \
  $(library)
	$(link) -o $@ $^ $(LDLIBS)

# One measurement of a fleet, to be taken in turns with others'.
$(BUILD)/bench-turn: $(addprefix $(BUILD)/bench/,turn.o turn_options.o measure.o scenarios.o) $(bench_rig)
	$(link) -o $@ $^ $(LDLIBS)

# A job through a queue and back, by our broker, gearmand, beanstalkd (bench/dispatch/dispatch.h).
$(BUILD)/bench-dispatch: $(call objects,bench/dispatch) $(addprefix $(BUILD)/,bench/line.o bench/usage.o tests/support/children.o) \
  $(library)
	$(link) -o $@ $^ $(LDLIBS)

# Runs by LangGraph's API, of `flotilla serve` or another server (bench/http/main.c).
$(BUILD)/bench-http: $(call objects,bench/http) $(BUILD)/bench/dispatch/stream.o $(bench_rig)
	$(link) -o $@ $^ $(LDLIBS)

# What the peers need beside `make deps`: no other target installs it. What cannot be had is named by
# compare.sh.
PEERS := postgresql gearman-job-server beanstalkd python3-celery python3-redis gnuplot-nox
.PHONY: bench-deps bench-compare bench-plots bench-readme
bench-deps: deps
	@missing=; for p in $(PEERS); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; [ -z "$$missing" ] || { echo "installing$$missing"; apt-get update -qq; for p in $$missing; do \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$p >/dev/null || true; done; }

# Fleet, floor and peers in turns: the tables [ROUNDS=3 NO_CURVE=1 BENCH_TURN=command].
.PHONY: bench-compare-parts
bench-compare-parts: binaries $(addprefix $(BUILD)/,bench-turn bench-floor bench-dispatch bench-http model-server \
                                plugins/bench_layer.so)
bench-compare: bench-deps
	@$(MAKE) --no-print-directory bench-compare-parts
	@bench/compare.sh $(abspath $(BUILD)) $(or $(ROUNDS),3)
	@bench/plots.sh $(abspath $(BUILD))

# The last run's tables and plots into bench/README.md.
bench-plots:
	@bench/plots.sh $(abspath $(BUILD))
bench-readme:
	@bench/readme.sh $(abspath $(BUILD))
