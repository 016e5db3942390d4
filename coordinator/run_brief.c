/* run_brief: model calls on long threads: a worker that has had the thread's messages gets what is
 * new (docs/protocol.md, "A thread that is known"; worker-model/kept_threads.h).
 *
 * A whole request names its messages by their digest. Who answers says whether he keeps them; what
 * was kept last is the base of the thread's next request, of this run or of the next one
 * (heard.h). A worker that does not know the base answers {whole}. That call has ended then, and the run makes it
 * again, whole, as `<id>w`, with the same idempotency key. A worker that never heard of bases,
 * and came when nobody expected it, is told by its answer, which does not say what it keeps: it counts for nothing.
 *
 * Which of the two forms an id went out in is nowhere written down; it need not be. Whoever
 * takes the run over knows nothing of bases and sends <id> whole. Then
 *  - no worker had it, or the one that had it died: it is answered, by whom ever;
 *  - a worker has it as a brief one: its answer, from the same messages, is the answer;
 *  - it was answered {whole}: that answer comes again, for it is acknowledged no sooner than the
 *    one of <id>w is, by the step's commit. So <id>w is what is sent next, as the first owner did:
 *    it is known by its id where it runs, and begins nowhere twice.
 * {whole} itself is never stored: no run waits for what came of it. It comes with a fault, for owners that
 * do not know it. */
#include "run.h"

#include "heard.h"

/* Below that a whole request costs less than to name it: what is hashed, looked up and told
 * besides is worth about as many bytes at every hop. */
#define BRIEF_BYTES_MIN 8192u
#define MISSES_MAX 2u /* then all of the run's requests are whole */

struct brief {
	struct run *run;
	struct arena *arena;
	const struct run_call *call;
	struct heard_part base, all; /* base.count 0: there is none */
	const struct value *digest;  /* all's, as a value */
};

/* --- requests ----------------------------------------------------------------------- */

/* With its digest, if it was given one. */
static const struct value *
whole_request(const struct brief *brief)
{
	return value_map_with(
	    brief->arena, brief->call->request, "digest", brief->digest);
}

static const struct value *
brief_request(const struct brief *brief)
{
	struct arena *arena = brief->arena;
	const struct value *request = whole_request(brief);
	const struct value *messages = value_get(request, "messages");
	const struct value *state = value_get(request, "state");

	if (value_has(state, "messages"))
		request = value_map_with(arena, request, "state",
		    value_map_with(arena, state, "messages", value_nil()));
	request = value_map_with(arena, request, "messages", NULL);
	request = value_map_with(
	    arena, request, "base", digest_value(arena, brief->base.digest));
	return value_map_with(arena, request, "behind",
	    value_array_slice(arena, messages, brief->base.count, value_size(messages)));
}

/* Finds out what the request is called, and what it may be based on. */
static void
name_messages(struct brief *brief)
{
	struct run *run = brief->run;
	struct heard *heard = run->coordinator->heard;

	/* In this order: the stream of digests does not go back. */
	if (run->misses >= MISSES_MAX || !heard_get(heard, run->thread, &brief->base) ||
	    !state_begins_with(run->state, brief->base.count, brief->base.digest))
		brief->base.count = 0;
	state_digest(run->state, brief->all.digest);
	brief->all.count = value_size(state_messages(run->state));
	brief->digest = digest_value(brief->arena, brief->all.digest);
}

/* --- answers ------------------------------------------------------------------------ */

/* The worker could not make the whole of a request with a base, or did not know what that is. */
static bool
is_miss(const struct value *body, bool is_based)
{
	return value_has(body, "whole") ||
	       (is_based && !value_has(body, "kept") &&
		   !value_get_bool(value_get(body, "fault"), "control", false));
}

/* Takes what the answer says of the thread out of it. */
static void
note_kept(const struct brief *brief, const struct value **body)
{
	struct heard *heard = brief->run->coordinator->heard;

	if (digest_is(brief->all.digest, value_get(*body, "kept")))
		heard_put(heard, brief->run->thread, &brief->all);
	else
		heard_forget(heard, brief->run->thread);
	*body = value_map_with(brief->arena, *body, "kept", NULL);
}

/* --- calls -------------------------------------------------------------------------- */

static enum go
call_again(const struct brief *brief, const struct value **body_r)
{
	struct run *run = brief->run;
	struct run_call again = *brief->call;
	enum go go;

	run->misses++;
	again.id = arena_printf(brief->arena, "%sw", brief->call->id);
	again.key = brief->call->key != NULL ? brief->call->key : brief->call->id;
	again.request = whole_request(brief);
	go = run_call(run, brief->arena, &again, body_r);
	if (go == GO_ON)
		value_list_add(&run->answered, value_str(run->batch, again.id));
	if (go == GO_ON && value_has(*body_r, "whole"))
		go = run_fail(run, "RuntimeError",
		    "the worker of %s asked for messages that it had",
		    brief->call->service);
	/* Who called sees to the first id when all went well; else the run's end, when it is ours. */
	if (go != GO_ON)
		value_list_add(&run->answered, value_str(run->batch, brief->call->id));
	return go;
}

/* Nobody would keep it, or it is not worth the name. */
static bool
is_left_alone(struct run *run, const struct run_call *call)
{
	return state_packed_bytes(run->state) < BRIEF_BYTES_MIN ||
	       !catalog_keeps_threads(run->coordinator->catalog, call->service);
}

enum go
run_brief_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r)
{
	struct brief brief = { .run = run, .arena = arena, .call = call };
	struct run_call named = *call;
	bool worked;
	enum go go;

	if (!is_left_alone(run, call)) {
		name_messages(&brief);
		named.request =
		    brief.base.count > 0 ? brief_request(&brief) : whole_request(&brief);
	}
	go = run_call_worked(run, arena, &named, body_r, &worked);
	/* Who had the run before us may have had other workers. */
	if (go == GO_ON && worked && is_miss(*body_r, brief.base.count > 0))
		go = call_again(&brief, body_r);
	if (go == GO_ON && brief.digest != NULL)
		note_kept(&brief, body_r);
	return go;
}
