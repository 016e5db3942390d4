#include "follow.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fiber.h"
#include "json.h"
#include "listeners.h"
#include "show.h"

#define BLOCK_MS 500u

struct follow {
	struct session *session;
	const struct follow_options *options;
	const char *thread, *run;
	uint64_t seen;
	const struct value *last;
	bool speaking;      /* an answer is being written, token by token */
	struct packet said; /* of it */
	struct show_flow flow;
};

int
follow_exit(const char *status)
{
	static const struct {
		const char *status;
		enum status exit;
	} exits[] = { { "success", STATUS_OK }, { "interrupted", STATUS_INTERRUPTED },
		{ "cancelled", STATUS_CANCELLED }, { "refused", STATUS_REFUSED } };
	size_t i;

	for (i = 0; i < sizeof exits / sizeof *exits; i++)
		if (status != NULL && strcmp(exits[i].status, status) == 0)
			return exits[i].exit;
	return STATUS_FAILED;
}

/* --- tokens ------------------------------------------------------------------------- */

static void
end_answer(struct follow *follow)
{
	if (follow->speaking)
		putchar('\n');
	follow->speaking = false;
	follow->said.size = 0;
}

/* What stands there so far was of a call that failed: the next one begins from its first word. */
static void
void_answer(struct follow *follow, struct arena *arena)
{
	if (!follow->speaking)
		return;
	end_answer(follow);
	printf(
	    "%s  the answer broke off; what it said does not count\n", show_now(arena));
}

static void
begin_answer(struct follow *follow, struct arena *arena)
{
	printf("%s  answering\n", show_now(arena));
	follow->flow = show_speaker(arena, "ai:", SHOW_INDENT);
	follow->speaking = true;
}

static void
write_token(struct follow *follow, struct arena *arena, const struct value *body)
{
	const char *text = value_get_text(body, "content");

	if (text == NULL)
		return;
	/* Whoever wrote what is there has died, or ended unseen. */
	if (value_get_int(body, "index", -1) == 0)
		end_answer(follow);
	if (!follow->speaking)
		begin_answer(follow, arena);
	show_flow(&follow->flow, text);
	packet_append(&follow->said, text, strlen(text));
	fflush(stdout);
}

static bool
is_topic(struct parts *parts, const char *ending)
{
	size_t size = parts_size(parts, 0), length = strlen(ending);

	return size > length && memcmp((const char *)parts_data(parts, 0) + size - length,
				    ending, length) == 0;
}

static void
on_body(struct follow *follow, struct arena *arena, bool child, const struct value *body)
{
	if (!child) {
		write_token(follow, arena, body);
		return;
	}
	end_answer(follow);
	printf("%s  %s\n", show_now(arena), show_headline(arena, body));
	fflush(stdout);
}

/* run.<id>.token; .restart: what was said so far is void, the answer begins again; .child: an event that is
 * not stored, since the step's has the child's report. */
static void
on_live(void *arg, struct parts *parts, bool truncated)
{
	struct follow *follow = arg;
	struct arena *arena;
	const struct value *body;
	const char *error;

	if (truncated || parts->count < 2)
		return;
	arena = arena_new();
	if (is_topic(parts, ".restart"))
		void_answer(follow, arena);
	else if (value_unpack(arena, parts_data(parts, 1), parts_size(parts, 1), &body,
		     &error) == 0)
		on_body(follow, arena, is_topic(parts, ".child"), body);
	arena_destroy(&arena);
}

static struct listeners *
listen_tokens(struct follow *follow)
{
	struct arena *arena = session_arena(follow->session);
	struct listeners *listeners;

	if (!follow->options->tokens || follow->options->json)
		return NULL;
	listeners = listeners_new(follow->session, on_live, follow);
	if (listeners == NULL)
		return NULL; /* the events tell all but these */
	listeners_subscribe(listeners, arena_printf(arena, "run.%s.token", follow->run));
	listeners_subscribe(
	    listeners, arena_printf(arena, "run.%s.restart", follow->run));
	listeners_subscribe(listeners, arena_printf(arena, "run.%s.child", follow->run));
	return listeners;
}

/* --- events ------------------------------------------------------------------------- */

static void
tell(struct follow *follow, struct arena *arena, const struct value *event)
{
	const struct value *messages = value_empty_array();
	int64_t count = value_get_int(event, "count", 0);
	const char *streamed = NULL;

	if (follow->options->quiet)
		return;
	if (count > 0)
		store_messages(session_store(follow->session), arena, follow->thread,
		    (uint64_t)value_get_int(event, "first", 0), (uint64_t)count,
		    &messages);
	if (follow->options->json) {
		if (count > 0)
			event = value_map_with(arena, event, "messages", messages);
		printf("%s\n", json_text(arena, event));
		fflush(stdout);
		return;
	}
	if (follow->speaking)
		streamed = arena_copy(arena, follow->said.data, follow->said.size);
	end_answer(follow);
	show_event(arena, event, messages, streamed);
}

/* Reads what is new. Returns true when the run's end was among it. */
static bool
read_events(struct follow *follow, struct store *events_store, int *result)
{
	struct arena *arena = arena_new();
	const struct value *events;
	enum store_status status = store_events(events_store, arena, follow->thread,
	    follow->run, follow->seen, BLOCK_MS, &events);
	bool ended = false;
	size_t i;

	if (status != STORE_OK) {
		*result = session_events_failed(follow->session, status);
		arena_destroy(&arena);
		return true;
	}
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		follow->seen = (uint64_t)value_get_int(event, "seq", 0);
		tell(follow, arena, event);
		if (value_text_is(value_get(event, "kind"), "finished")) {
			follow->last = value_copy(session_arena(follow->session), event);
			*result = follow_exit(value_get_text(event, "status"));
			ended = true;
		}
	}
	arena_destroy(&arena);
	return ended;
}

int
follow_run(struct session *session, const char *thread, const char *run,
    const struct follow_options *options, const struct value **last_r)
{
	struct follow follow = { .session = session,
		.options = options,
		.thread = thread,
		.run = run,
		.last = value_empty_map() };
	struct store *events_store = session_events_store(session);
	bool there = events_store != NULL && session_store(session) != NULL;
	struct listeners *tokens;
	int result = STATUS_FAILED;

	if (!there && !session_interrupted(session))
		return STATUS_UNREACHABLE;
	tokens = there ? listen_tokens(&follow) : NULL;
	while (
	    !session_interrupted(session) && !read_events(&follow, events_store, &result))
		continue;
	listeners_destroy(&tokens);
	end_answer(&follow);
	packet_release(&follow.said);
	if (session_interrupted(session)) {
		complain("no longer watching; the run goes on. `flotilla watch %s`, "
			 "`flotilla cancel %s`",
		    run, run);
		result = STATUS_FAILED;
	}
	if (last_r != NULL)
		*last_r = follow.last;
	return result;
}
