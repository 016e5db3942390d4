#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fiber.h"
#include "listeners.h"
#include "memory.h"
#include "show.h"
#include "store_fleet.h"
#include "tame.h"

#define BLOCK_MS 500u
#define AWAY_MS 60000u /* a failover, or a Redis that loads its data, takes less */
#define AGAIN_MS 100u
#define LOOK_MS 2000u /* at what is known of the run, though nothing happens */

struct follow {
	struct session *session;
	struct follow_options options;
	const char *thread, *run;
	const char *entry; /* of the inbox, that the run is made of; or NULL */
	struct listeners *tokens;
	uint64_t seen;
	uint64_t look_at;    /* when to ask whether more will come, in loop_now_ms */
	bool is_missing;     /* neither the run nor what it is made of was there */
	bool has_ended;      /* so it was found, and the log may have had its end since */
	bool wants_end_only; /* what was seen is told no more */
	uint64_t away_since; /* when Redis was found gone; 0: it is there */
	const struct value *last;
	bool speaking;      /* an answer is being written, token by token */
	bool is_left;       /* its line has been ended, for something else */
	int64_t answer;     /* which; 0: not known */
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
	if (follow->speaking && !follow->is_left)
		putchar('\n');
	follow->speaking = follow->is_left = false;
	follow->said.size = 0;
}

/* Its step is still to come, which does not say again what was said. */
static void
leave_answer(struct follow *follow)
{
	if (follow->speaking && !follow->is_left)
		putchar('\n');
	follow->is_left = follow->speaking;
}

/* What stands there so far was of a call that failed: the next one begins from its first word. */
static void
void_answer(struct follow *follow, struct arena *arena, int64_t answer)
{
	if (!follow->speaking || (answer != 0 && answer != follow->answer))
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
	follow->is_left = false;
}

static void
write_token(struct follow *follow, struct arena *arena, const struct value *body)
{
	const char *text = value_get_text(body, "content");
	int64_t answer = value_get_int(body, "answer", 0);
	bool is_first = value_get_int(body, "index", -1) == 0;

	/* Whoever was given up may write still. */
	if (text == NULL || (follow->speaking && !is_first && answer != follow->answer))
		return;
	/* Whoever wrote what is there has died, or ended unseen. */
	if (is_first)
		end_answer(follow);
	follow->answer = answer;
	if (!follow->speaking || follow->is_left)
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
on_body(struct follow *follow, struct arena *arena, struct parts *parts,
    const struct value *body)
{
	if (is_topic(parts, ".restart")) {
		void_answer(follow, arena, value_get_int(body, "answer", 0));
	} else if (is_topic(parts, ".child") || is_topic(parts, ".custom")) {
		leave_answer(follow);
		printf("%s  %s\n", show_now(arena), show_headline(arena, body));
		fflush(stdout);
	} else {
		write_token(follow, arena, body);
	}
}

/* run.<id>.token; .restart: what was said so far is void, the answer begins again; .child: an event that is
 * not stored, since the step's has the child's report; .custom: what a tool tells. */
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
	if (value_unpack(
		arena, parts_data(parts, 1), parts_size(parts, 1), &body, &error) == 0)
		on_body(follow, arena, parts, body);
	arena_destroy(&arena);
}

static struct listeners *
listen_tokens(struct follow *follow)
{
	struct arena *arena = session_arena(follow->session);
	struct listeners *listeners;

	if (!follow->options.tokens || follow->options.json)
		return NULL;
	listeners = listeners_new(follow->session, on_live, follow);
	if (listeners == NULL)
		return NULL; /* the events tell all but these */
	listeners_subscribe(listeners, arena_printf(arena, "run.%s.token", follow->run));
	listeners_subscribe(
	    listeners, arena_printf(arena, "run.%s.restart", follow->run));
	listeners_subscribe(listeners, arena_printf(arena, "run.%s.child", follow->run));
	listeners_subscribe(listeners, arena_printf(arena, "run.%s.custom", follow->run));
	return listeners;
}

/* --- events ------------------------------------------------------------------------- */

/* Returns STORE_OK, or why the event's messages cannot be read: then nothing was said. */
static enum store_status
tell(struct follow *follow, struct arena *arena, const struct value *event)
{
	const struct value *messages = value_empty_array();
	int64_t count = value_get_int(event, "count", 0);
	const char *streamed = NULL;
	enum store_status status = STORE_OK;

	if (follow->options.quiet)
		return STORE_OK;
	if (count > 0)
		status = store_messages(session_store(follow->session), arena,
		    follow->thread, (uint64_t)value_get_int(event, "first", 0),
		    (uint64_t)count, &messages);
	if (status == STORE_FAILED || status == STORE_CANCELLED)
		return status;
	if (follow->options.json) {
		if (count > 0)
			event = value_map_with(arena, event, "messages", messages);
		printf("%s\n", tame_json(arena, event));
		fflush(stdout);
		return STORE_OK;
	}
	if (follow->speaking)
		streamed = arena_copy(arena, follow->said.data, follow->said.size);
	end_answer(follow);
	show_event(arena, event, messages, streamed);
	return STORE_OK;
}

/* What to do about a step that failed. Returns true when it is not to be tried again: *result says how it ends. */
static bool
give_up(struct follow *follow, struct store *store, enum store_status status, int *result)
{
	uint64_t now = loop_now_ms(session_loop(follow->session));

	*result = STATUS_FAILED;
	if (status == STORE_CANCELLED)
		return true;
	if (status == STORE_FAILED && store_is_gone(store)) {
		if (follow->away_since == 0) {
			end_answer(follow);
			complain("%s; waits for it, %u s at most", store_error(store),
			    AWAY_MS / 1000);
			follow->away_since = now;
		}
		if (now - follow->away_since < AWAY_MS)
			return fiber_sleep(AGAIN_MS) == -1;
	}
	*result = session_step_failed(store, status);
	complain(
	    "the run's end is not known here; `flotilla watch %s` goes on", follow->run);
	return true;
}

/* The run is not there. It comes, or comes again, if it is still in the inbox; a step makes it and takes it from there, so
 * that it may have come while we ask. Returns false when it will not: *result says so. */
static bool
may_come(struct follow *follow, struct arena *arena, int *result)
{
	enum store_status status =
	    store_has_entry(session_store(follow->session), arena, follow->entry);

	if (status != STORE_NONE || !follow->is_missing) {
		follow->is_missing = status == STORE_NONE;
		return true;
	}
	end_answer(follow);
	complain(
	    "run '%s' is not there: it was deleted, or Redis has lost it", follow->run);
	*result = STATUS_NOT_FOUND;
	return false;
}

/* The run has ended, and its end is not behind what was seen: it may have come in between, or Redis has forgotten some of
 * what was seen (a failover), and then has its end in that place. Returns false when there is none. */
static bool
look_back(struct follow *follow, int *result)
{
	if (!follow->has_ended) {
		follow->has_ended = true;
		return true;
	}
	if (!follow->wants_end_only) {
		complain("Redis has lost some of what was told of run '%s'", follow->run);
		follow->wants_end_only = true;
		follow->seen = 0;
		return true;
	}
	complain("the log of run '%s' has no end", follow->run);
	*result = STATUS_FAILED;
	return false;
}

/* Nothing new is in the log. Returns false when nothing will be: *result says how it ends. */
static bool
goes_on(struct follow *follow, struct arena *arena, int *result)
{
	bool has_ended = false, is_queued;
	enum store_status status = store_has_ended(session_store(follow->session), arena,
	    follow->thread, follow->run, &has_ended, &is_queued);

	if (status == STORE_NONE)
		return may_come(follow, arena, result);
	if (status != STORE_OK)
		return true; /* the log says what is wrong */
	follow->is_missing = false;
	follow->has_ended &= has_ended;
	return !has_ended || look_back(follow, result);
}

static bool
is_time_to_look(struct follow *follow)
{
	uint64_t now = loop_now_ms(session_loop(follow->session));

	if (now < follow->look_at && !follow->has_ended && !follow->is_missing)
		return false;
	follow->look_at = now + LOOK_MS;
	return true;
}

static bool
is_end(const struct value *event)
{
	return value_text_is(value_get(event, "kind"), "finished");
}

/* Reads what is new. Returns true when the run's end was among it. */
static bool
read_events(struct follow *follow, int *result)
{
	struct store *store = session_events_store(follow->session);
	struct arena *arena = arena_new();
	const struct value *events;
	enum store_status status = store_events(
	    store, arena, follow->thread, follow->run, follow->seen, BLOCK_MS, &events);
	bool ended = false;
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		if (!follow->wants_end_only || is_end(event))
			status = tell(follow, arena, event);
		if (status != STORE_OK) {
			store = session_store(follow->session);
			break;
		}
		follow->seen = (uint64_t)value_get_int(event, "seq", 0);
		if (is_end(event)) {
			follow->last = value_copy(session_arena(follow->session), event);
			*result = follow_exit(value_get_text(event, "status"));
			ended = true;
		}
	}
	if (status == STORE_OK)
		follow->away_since = 0;
	else
		ended = give_up(follow, store, status, result);
	if (status == STORE_OK && value_size(events) == 0 && is_time_to_look(follow))
		ended = !goes_on(follow, arena, result);
	arena_destroy(&arena);
	return ended;
}

/* --- the whole ---------------------------------------------------------------------- */

struct follow *
follow_new(struct session *session, const char *thread, const char *run,
    const struct follow_options *options)
{
	struct follow *follow;

	if (session_store(session) == NULL || session_events_store(session) == NULL)
		return NULL;
	follow = xcalloc(1, sizeof *follow);
	*follow = (struct follow){ .session = session,
		.options = *options,
		.thread = thread,
		.run = run,
		.last = value_empty_map() };
	follow->tokens = listen_tokens(follow);
	return follow;
}

void
follow_destroy(struct follow **follow_p)
{
	struct follow *follow = *follow_p;

	if (follow == NULL)
		return;
	*follow_p = NULL;
	listeners_destroy(&follow->tokens);
	packet_release(&follow->said);
	free(follow);
}

void
follow_expect(struct follow *follow, const char *entry)
{
	follow->entry = entry;
}

int
follow_end(struct follow **follow_p, const struct value **last_r)
{
	struct follow *follow = *follow_p;
	struct session *session = follow->session;
	int result = STATUS_FAILED;

	while (!session_interrupted(session) && !read_events(follow, &result))
		continue;
	listeners_destroy(&follow->tokens);
	end_answer(follow);
	if (ferror(stdout) != 0) { /* of a run that has long ended, perhaps */
		complain(
		    "the standard output takes no more: its disk is full, or its reader "
		    "has gone. `flotilla watch %s` shows all of the run",
		    follow->run);
		result = STATUS_FAILED;
	} else if (session_interrupted(session)) {
		complain("no longer watching; the run goes on. `flotilla watch %s`, "
			 "`flotilla cancel %s`",
		    follow->run, follow->run);
		result = STATUS_FAILED;
	}
	if (last_r != NULL)
		*last_r = follow->last;
	follow_destroy(follow_p);
	return result;
}

int
follow_run(struct session *session, const char *thread, const char *run,
    const struct follow_options *options, const struct value **last_r)
{
	struct follow *follow = follow_new(session, thread, run, options);

	if (follow != NULL)
		return follow_end(&follow, last_r);
	return session_interrupted(session) ? STATUS_FAILED : STATUS_UNREACHABLE;
}
