/* tool_bench: a broker and tool workers as real programs, in a folder of their own, and a
 * caller of them in this process. One a test. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include "caller.h"
#include "children.h"
#include "fault.h"
#include "loop.h"

#define TOOL_BENCH_WORKERS 2
#define TOOL_BENCH_CALLS 16

/* One call, on a fiber of its own. */
struct tool_call {
	struct call_request request;
	struct call_outcome outcome;
	struct fiber *fiber; /* NULL: it has ended */
	bool was_cancelled;
};

struct tool_bench {
	struct arena *arena;
	struct loop *loop;
	char *folder; /* the tools of its folder "tools" find it in $HERE */
	struct child *broker, *workers[TOOL_BENCH_WORKERS];
	struct links *links;
	struct caller *caller;
	struct tool_call calls[TOOL_BENCH_CALLS];
	size_t call_count;
};

/* Starts a broker and connects to it. */
void tool_bench_start(struct tool_bench *bench);
/* Stops all; each program must end well. */
void tool_bench_stop(struct tool_bench *bench);

/* Starts worker index; more is one flag more of it, or NULL. */
void tool_bench_worker(struct tool_bench *bench, size_t index, const char *more);

const char *tool_bench_path(struct tool_bench *bench, const char *name);
const char *tool_bench_endpoint(struct tool_bench *bench);
/* The path of a plugin, which lies beside the program that runs the tests. */
const char *tool_bench_plugin(struct tool_bench *bench, const char *name);
/* Files in the folder. text: of a small one. is_gone: the process whose id it holds is
 * gone, or waits to be reaped. */
void tool_bench_write(struct tool_bench *bench, const char *name, const char *text);
bool tool_bench_exists(struct tool_bench *bench, const char *name);
const char *tool_bench_text(struct tool_bench *bench, const char *name);
bool tool_bench_is_gone(struct tool_bench *bench, const char *name);

/* Writes the file of tool t: text are its keys but name, description and environment. */
void tool_bench_offer(struct tool_bench *bench, const char *text);

/* Starts a call of tool by way of service, with middleware (JSON) around it. Its one
 * argument that is checked is n, an integer. A tool named "nix" is unknown. */
struct tool_call *tool_bench_begin_of(struct tool_bench *bench, const char *service,
    const char *tool, const char *args, const char *middleware);
/* The same for t by way of tool:t, without middleware. */
struct tool_call *tool_bench_begin(struct tool_bench *bench, const char *args);

/* Runs the loop until happened(bench) is true; until all calls have ended. */
void tool_bench_await(
    struct tool_bench *bench, bool (*happened)(struct tool_bench *bench));
void tool_bench_await_all(struct tool_bench *bench);

/* Calls t and waits for its end. */
const struct tool_call *tool_bench_call(struct tool_bench *bench, const char *args);

/* Says that all outcomes are stored, and waits for the end of worker index, which was
 * told to end. */
void tool_bench_await_end(struct tool_bench *bench, size_t index);

/* Returns the content of call's answer, which has that status; its fault. */
const char *tool_bench_content(
    struct tool_bench *bench, const struct tool_call *call, const char *status);
const struct fault *tool_bench_fault(
    struct tool_bench *bench, const struct tool_call *call);

#endif
