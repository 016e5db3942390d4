/* mcp_bench: a tool bench whose worker has the tools of an MCP server (tests/mcp/server.py), as its child
 * or behind HTTP. One a test. */
#ifndef MCP_BENCH_H
#define MCP_BENCH_H

#include "tool_bench.h"

extern struct tool_bench mcp_bench;

void mcp_bench_set_up(void);
void mcp_bench_tear_down(void);

/* Writes the file that makes it the server "test", a program, with more lines. */
void mcp_offer_program(const char *more);
/* The same behind HTTP, which wants the key. */
void mcp_offer_http(const char *key);

/* The same of a program that does one thing wrong (tests/mcp/bad.py). */
void mcp_offer_bad(const char *what, const char *more);

/* How many lines it has written into its file of that name. */
size_t mcp_lines_of(const char *name);

/* Runs worker-tools with the file and those arguments; returns what it printed. */
const char *mcp_printed(const char *arguments);

/* Starts a call of its tool; the same, and waits for its end. */
struct tool_call *mcp_begin(const char *tool, const char *args);
struct tool_call *mcp_called(const char *tool, const char *args);

/* Waits for the end of this call; others may go on. */
void mcp_await(const struct tool_call *call);

void mcp_expect_text(const struct tool_call *call, const char *text);
/* words: they are in its message. */
void mcp_expect_fault(const struct tool_call *call, const char *type, const char *words);

#endif
