# What stands beside the fleet: the floor and the peers; included by bench.mk.

# What a fleet of this shape costs at the least (bench/floor/floor.h).
$(BUILD)/bench-floor: $(call objects,bench/floor) $(addprefix $(BUILD)/,bench/line.o bench/process.o tests/support/children.o) \
  $(library)
	$(link) -o $@ $^ $(LDLIBS)

# One measurement of a fleet, to be taken in turns with others'.
$(BUILD)/bench-turn: $(addprefix $(BUILD)/,$(addprefix bench/,turn.o line.o load.o rig.o process.o) tests/support/children.o) $(library)
	$(link) -o $@ $^ $(LDLIBS)
