# How the benchmarks are built and run; included by the Makefile.

# The provider of the benchmarks: 140,000 answers a second and core (bench/model_server.c).
$(BUILD)/model-server: $(BUILD)/bench/model_server.o
	$(link) -o $@ $^ $(shell pkg-config --libs libsystemd)
