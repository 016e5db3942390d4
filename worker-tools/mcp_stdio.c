#include "mcp_stdio.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bounds.h"
#include "command_tool.h"
#include "companion.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "utf8.h"

#define ERRORS_KEPT 400u
#define END_WAIT_MS 2000u /* from the end of its input to SIGKILL */
#define KILL_WAIT_MS 5000u

/* A fiber whose response is still to come. */
struct waiting {
	TAILQ_ENTRY(waiting) link;
	struct mcp_exchange *exchange;
	struct fiber *fiber;
	bool has_ended;
};

struct mcp_stdio {
	struct mcp_link link; /* first */
	struct loop *loop;
	const struct mcp_options *options;
	struct companion *companion;
	struct packet line;       /* the beginning of one */
	char errors[ERRORS_KEPT]; /* the end of what it said on standard error */
	size_t error_size;
	TAILQ_HEAD(, waiting) waiting;
	struct fiber *closing; /* waits until it is gone */
	const char *broken;    /* why it was killed by us; or NULL */
};

static struct mcp_stdio *
of(struct mcp_link *link)
{
	return (struct mcp_stdio *)(void *)link;
}

/* --- what it says ----------------------------------------------------------------------- */

static struct waiting *
find(struct mcp_stdio *stdio, int64_t id)
{
	struct waiting *waiting;

	TAILQ_FOREACH(waiting, &stdio->waiting, link)
		if (waiting->exchange->id == id)
			return waiting;
	return NULL;
}

static void
end(struct mcp_stdio *stdio, struct waiting *waiting)
{
	TAILQ_REMOVE(&stdio->waiting, waiting, link);
	waiting->has_ended = true;
	fiber_wake(waiting->fiber);
}

static void
break_off(struct mcp_stdio *stdio, const char *why)
{
	stdio->broken = why;
	companion_kill(stdio->companion);
}

static void
write_line(struct mcp_stdio *stdio, const char *text)
{
	if (companion_is_gone(stdio->companion) || stdio->broken != NULL)
		return;
	companion_write(stdio->companion, text, strlen(text));
	companion_write(stdio->companion, "\n", 1);
}

static void
on_response(void *arg, int64_t id, const struct value *message)
{
	struct mcp_stdio *stdio = arg;
	struct waiting *waiting = find(stdio, id);

	if (waiting == NULL)
		return; /* nobody waits any more */
	waiting->exchange->response = value_copy(waiting->exchange->arena, message);
	end(stdio, waiting);
}

static void
on_request(void *arg, const char *answer)
{
	write_line(arg, answer);
}

static const struct mcp_takers takers = { on_response, on_request };

static void
take_output(struct mcp_stdio *stdio, const char *data, size_t size)
{
	const char *newline;

	while (stdio->broken == NULL && (newline = memchr(data, '\n', size)) != NULL) {
		size_t piece = (size_t)(newline - data);

		packet_append(&stdio->line, data, piece);
		if (stdio->line.size > 0)
			mcp_link_take(&stdio->link, stdio->options->name,
			    stdio->line.data, stdio->line.size, &takers, stdio);
		packet_release(&stdio->line);
		data += piece + 1;
		size -= piece + 1;
	}
	if (stdio->broken == NULL)
		packet_append(&stdio->line, data, size);
	if (stdio->line.size > MCP_MESSAGE_BYTES_MAX)
		break_off(stdio, "sent a message that is too large");
}

/* Keeps the last bytes. */
static void
take_errors(struct mcp_stdio *stdio, const char *data, size_t size)
{
	size_t over;

	if (size > ERRORS_KEPT) {
		data += size - ERRORS_KEPT;
		size = ERRORS_KEPT;
	}
	if (stdio->error_size + size > ERRORS_KEPT) {
		over = stdio->error_size + size - ERRORS_KEPT;
		stdio->error_size -= over;
		memmove(stdio->errors, stdio->errors + over, stdio->error_size);
	}
	memcpy(stdio->errors + stdio->error_size, data, size);
	stdio->error_size += size;
}

static void
on_bytes(void *arg, enum companion_stream stream, const char *data, size_t size)
{
	struct mcp_stdio *stdio = arg;

	if (stream == COMPANION_OUTPUT)
		take_output(stdio, data, size);
	else
		take_errors(stdio, data, size);
}

/* --- its end ---------------------------------------------------------------------------- */

/* How it ended and the last line that it said of it, in arena. */
static const char *
end_text(const struct mcp_stdio *stdio, struct arena *arena)
{
	const char *how =
	    stdio->broken != NULL ? stdio->broken : companion_end_text(stdio->companion);
	size_t size = stdio->error_size, begin;
	const char *text;

	while (size > 0 && strchr("\r\n ", stdio->errors[size - 1]) != NULL)
		size--;
	for (begin = size; begin > 0 && stdio->errors[begin - 1] != '\n'; begin--)
		;
	if (begin == size)
		return arena_strdup(arena, how);
	text = utf8_repair(arena, stdio->errors + begin, size - begin, &size);
	return arena_printf(arena, "%s: %s", how, text);
}

static void
fail_all(struct mcp_stdio *stdio, const char *reason)
{
	struct waiting *waiting;

	while ((waiting = TAILQ_FIRST(&stdio->waiting)) != NULL) {
		waiting->exchange->fault =
		    fault_new(waiting->exchange->arena, "ConnectionError",
			"the MCP server %s %s", stdio->options->name, reason);
		end(stdio, waiting);
	}
}

static void
on_gone(void *arg)
{
	struct mcp_stdio *stdio = arg;
	const struct mcp_hearer *hearer = &stdio->link.hearer;
	struct arena *arena = arena_new();
	const char *reason = end_text(stdio, arena);

	fail_all(stdio, reason);
	if (stdio->closing != NULL)
		fiber_wake(stdio->closing);
	else
		hearer->on_lost(hearer->arg, reason);
	arena_destroy(&arena);
}

static bool
wait_until_gone(struct mcp_stdio *stdio, uint64_t ms)
{
	uint64_t end_ms = loop_now_ms(stdio->loop) + ms, now_ms;

	while (!companion_is_gone(stdio->companion) &&
	       (now_ms = loop_now_ms(stdio->loop)) < end_ms)
		fiber_wait_ms(end_ms - now_ms);
	return companion_is_gone(stdio->companion);
}

static void
end_stdio(struct mcp_link *link)
{
	struct mcp_stdio *stdio = of(link);

	fiber_shield(true);
	stdio->closing = fiber_current();
	companion_ask_to_end(stdio->companion);
	if (!wait_until_gone(stdio, END_WAIT_MS)) {
		companion_kill(stdio->companion);
		if (!wait_until_gone(stdio, KILL_WAIT_MS))
			log_warnx("mcp=%s a process of it cannot be killed",
			    stdio->options->name);
	}
	fiber_shield(false);
	stdio->closing = NULL;
	fail_all(stdio, "cannot be killed");
}

static void
close_stdio(struct mcp_link **link_p)
{
	struct mcp_stdio *stdio = of(*link_p);

	*link_p = NULL;
	companion_destroy(&stdio->companion);
	packet_release(&stdio->line);
	free(stdio);
}

/* --- exchanges -------------------------------------------------------------------------- */

static void
fail(struct mcp_stdio *stdio, struct mcp_exchange *exchange, bool is_cancelled)
{
	exchange->fault = is_cancelled ? fault_cancelled(exchange->arena)
				       : fault_new(exchange->arena, "TimeoutError",
					     "the MCP server %s did not answer in time",
					     stdio->options->name);
}

static void
exchange_stdio(struct mcp_link *link, struct mcp_exchange *exchange)
{
	struct mcp_stdio *stdio = of(link);
	struct waiting waiting = { .exchange = exchange, .fiber = fiber_current() };
	uint64_t now_ms = loop_now_ms(stdio->loop);
	int woken = 0;

	if (companion_is_gone(stdio->companion)) {
		exchange->fault = fault_new(exchange->arena, "ConnectionError",
		    "the MCP server %s has ended", stdio->options->name);
		return;
	}
	TAILQ_INSERT_TAIL(&stdio->waiting, &waiting, link);
	write_line(stdio, exchange->text);
	while (!waiting.has_ended && woken != -1 && now_ms < exchange->end_ms) {
		woken = fiber_wait_ms(exchange->end_ms - now_ms);
		now_ms = loop_now_ms(stdio->loop);
	}
	if (waiting.has_ended)
		return;
	TAILQ_REMOVE(&stdio->waiting, &waiting, link);
	fail(stdio, exchange, woken == -1);
}

static void
tell_stdio(struct mcp_link *link, const char *text)
{
	write_line(of(link), text);
}

static const struct mcp_link_type type = { exchange_stdio, tell_stdio, end_stdio,
	close_stdio };

struct mcp_link *
mcp_stdio_open(struct loop *loop, struct arena *arena, const struct mcp_options *options,
    const struct mcp_hearer *hearer, const char **reason_r)
{
	struct mcp_stdio *stdio = xcalloc(1, sizeof *stdio);
	const struct companion_options companion = {
		.argv = command_tool_argv(arena, options->program),
		.env = command_tool_env(arena, options->program),
		.directory = options->program->directory,
		.limits = options->program->limits,
		.on_bytes = on_bytes,
		.on_gone = on_gone,
		.arg = stdio,
	};

	stdio->link = (struct mcp_link){ .type = &type, .hearer = *hearer };
	stdio->loop = loop;
	stdio->options = options;
	TAILQ_INIT(&stdio->waiting);
	stdio->companion = companion_start(loop, arena, &companion, reason_r);
	if (stdio->companion != NULL)
		return &stdio->link;
	free(stdio);
	return NULL;
}
