/* thread_join: GET /threads/{id}/stream: what is shown of each run, one run after the other, for as long as the client stays. */
#include <string.h>

#include "json.h"
#include "runs.h"
#include "thread_find.h"
#include "thread_walk.h"

/* What the id of a run's last frame has in the place of a number. */
#define DONE "done"

struct join {
	struct call *call;
	struct thread_walk walk;
	unsigned modes;
	const char *last_id; /* of the run that is next; NULL: from its first event */
	uint64_t beat_at;
};

static int
beat(struct join *join)
{
	if (beat_rest(join->beat_at) > 0)
		return 0;
	join->beat_at = beat_next(BEAT_MS);
	return exchange_write(join->call->exchange, EVENTS_BEAT, strlen(EVENTS_BEAT));
}

/* Says that a run is done, as LangGraph's server does: who reads frame by frame knows no other end of it. */
static int
say_done(struct join *join, struct arena *arena, const char *run)
{
	const struct value *data = value_map(arena, "status",
	    value_str(arena, "run_done"), "run_id", value_str(arena, run), NULL);
	const char *frame =
	    arena_printf(arena, "event: metadata\ndata: %s\nid: %s/" DONE "\n\n",
		json_text(arena, data), run);

	return exchange_write(join->call->exchange, frame, strlen(frame));
}

/* Returns 0 when it has ended, or has not come to its time: others go ahead of it; -1 when the stream has. */
static int
show_run(struct join *join, struct arena *arena, const char *run)
{
	struct call *call = join->call;
	struct run_begun begun = {
		.thread = join->walk.thread, .run = run, .body = { .modes = join->modes }
	};
	const struct value *record;
	int found = thread_walk_read(&join->walk, arena, run, &record);

	if (found != 1)
		return found;
	begun.record = record;
	run_body_recall(record, &begun.body);
	if (!runs_show(call, &begun, true, join->last_id))
		return -1;
	return say_done(join, arena, run);
}

/* Returns -1 when the stream has ended. */
static int
go_on(struct join *join)
{
	struct arena *arena = arena_new();
	const char *run;
	int result = thread_walk_next(&join->walk, arena, &run);

	if (result == 1) {
		result = show_run(join, arena, run);
		thread_walk_step(&join->walk, run);
		join->last_id = NULL;
		join->beat_at = 0;
	} else if (result == 0) {
		result = beat(join);
	}
	arena_destroy(&arena);
	return result;
}

/* Where the client is: behind "<run>/<frame>", or all of "<run>/done", before all ("-1" or "-"), or here and now. What is not there any more is
 * here and now. */
static enum store_status
find_place(struct join *join, const char *last_id)
{
	const char *mark = last_id == NULL ? NULL : strrchr(last_id, '/'), *run = NULL;
	enum store_status status = STORE_NONE;

	if (last_id != NULL && (strcmp(last_id, "-1") == 0 || strcmp(last_id, "-") == 0))
		return STORE_OK;
	if (mark != NULL) {
		run = arena_copy(join->call->arena, last_id, (size_t)(mark - last_id));
		status = thread_walk_find(&join->walk, run);
	}
	if (status == STORE_OK && strcmp(mark + 1, DONE) == 0)
		thread_walk_step(&join->walk, run);
	else if (status == STORE_OK)
		join->last_id = arena_strdup(join->call->arena, mark + 1);
	return status == STORE_NONE ? thread_walk_begin(&join->walk) : status;
}

/* As each run was asked to be shown, LangGraph's usual mode, is not known here: as who joins a run is shown it. */
static bool
read_modes(struct call *call, unsigned *modes_r)
{
	const char *text = call_list(call, "stream_mode");

	if (text != NULL && strcmp(text, "run_modes") == 0) {
		*modes_r = RUNS_JOIN_MODES;
		return true;
	}
	return runs_read_modes(call, modes_r);
}

void
call_thread_join(struct call *call)
{
	struct join join = { .call = call,
		.walk = { .call = call, .thread = call->params[0] } };
	enum store_status status;

	if (!read_modes(call, &join.modes) || !thread_is_there(call, call->params[0]))
		return;
	status = find_place(&join, exchange_header(call->exchange, "Last-Event-ID"));
	if (status != STORE_OK) {
		reply_failed(call, status, "such thread");
		return;
	}
	runs_say_stream(call, call->params[0], NULL, join.modes);
	reply_events(call);
	while (go_on(&join) == 0)
		continue;
}
