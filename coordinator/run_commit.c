/* run_commit: what a run writes to Redis, and the events that go with it. */
#include "run_round.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "round.h"
#include "suspects.h"

#define BLANKS " \t\r\n"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
run_event(struct run *run, const char *kind, const struct value *fields)
{
	const struct value_pair head[] = {
		{ VALUE_TEXT("kind"), value_str(run->batch, kind) },
		{ VALUE_TEXT("at"), value_int(run->batch, wall_ms()) },
		{ VALUE_TEXT("run"), value_str(run->batch, run->id) },
	};

	/* Packed once, for Redis and for the channel. */
	value_list_add(
	    &run->events, value_freeze(run->batch,
			      value_map_merge(run->batch,
				  value_map_of(run->batch, head, COUNT(head)), fields)));
}

const struct value *
run_untold_messages(struct run *run)
{
	struct state_changes changes;
	uint32_t first = run->numbered;

	if (run->state != NULL) {
		state_changes(run->state, run->batch, &changes);
		run->numbered =
		    changes.first_number + (uint32_t)value_size(changes.messages);
	}
	return value_map_of(run->batch,
	    (const struct value_pair[]){
		{ VALUE_TEXT("first"), value_int(run->batch, first) },
		{ VALUE_TEXT("count"), value_int(run->batch, run->numbered - first) },
	    },
	    2);
}

bool
run_leaves_nothing(const struct run *run)
{
	return run->fault != NULL && !run->applied;
}

/* A text of the run's record, or NULL. */
static const struct value *
recorded(const struct run *run, const char *name)
{
	const char *text = run_record_text(run, name);

	return text != NULL ? value_str(run->batch, text) : NULL;
}

static const struct value *
new_head(struct run *run, const char *status)
{
	struct arena *arena = run->batch;
	const struct spec *spec = run->agent != NULL ? run->agent->spec : NULL;
	bool goes_on = strcmp(status, "running") == 0;
	const struct value_pair head[] = {
		{ VALUE_TEXT("run"), value_str(arena, run->id) },
		{ VALUE_TEXT("status"), value_str(arena, status) },
		{ VALUE_TEXT("step"), value_int(arena, (int64_t)run->step) },
		{ VALUE_TEXT("first_step"), value_int(arena, (int64_t)run->first_step) },
		{ VALUE_TEXT("agent"),
		    spec != NULL ? value_str(arena, spec->name) : NULL },
		{ VALUE_TEXT("version"),
		    spec != NULL ? value_str(arena, spec->version) : NULL },
		/* A first run that has changed nothing stands nowhere. */
		{ VALUE_TEXT("next"), spec != NULL && !run_leaves_nothing(run)
					  ? value_str(arena, run_node(run)->name)
					  : NULL },
		{ VALUE_TEXT("entered"),
		    run->fault != NULL && run->entered ? value_bool(true) : NULL },
		{ VALUE_TEXT("paused"),
		    run->paused != NULL ? value_str(arena, run->paused) : NULL },
		{ VALUE_TEXT("round"), run->round },
		{ VALUE_TEXT("written"),
		    run_round_written(run, arena, run->round, STATE_STORED) },
		/* Its questions are its parent's: nobody answers them here. */
		{ VALUE_TEXT("task"), recorded(run, "task") },
		{ VALUE_TEXT("assistant"), recorded(run, "assistant") },
		{ VALUE_TEXT("context"), run_context_left(run, status) },
		{ VALUE_TEXT("ephemeral"),
		    run->state != NULL ? state_ephemeral(run->state, arena) : NULL },
		/* For who takes the run over; a run that ends leaves nothing of it. */
		{ VALUE_TEXT("untracked"), goes_on && run->state != NULL
					       ? state_untracked(run->state, arena)
					       : NULL },
	};

	return value_map_of(arena, head, COUNT(head));
}

/* A run that ended before it changed anything leaves the thread where it was: at an interrupt that still waits
 * for its answer, maybe. What the thread is put back to with that, others have gone on from: who is next there is told. */
static const struct value *
old_head(struct run *run)
{
	return run->undone.version >= 0
		   ? value_map_with(run->batch, run->head, "put_back", value_bool(true))
		   : run->head;
}

static const struct value *
make_head(struct run *run, const char *status)
{
	if (run_leaves_nothing(run) && run->head != NULL)
		return old_head(run);
	if (run->rest != NULL && run->fault == NULL)
		return run->rest;
	return new_head(run, status);
}

/* The version a checkpoint builds on. */
static int64_t
parent_of(const struct run *run)
{
	const struct run_past *past = run_leaves_nothing(run) ? &run->undone : &run->past;

	return past->version >= 0 ? past->version : (int64_t)run->version;
}

/* What goes on from a checkpoint later is another run: untracked fields are this one's, and a context, of some MiB maybe, is with the
 * pause or the failure that a run goes on from, and not once more with each step behind it. */
static const struct value *
without_own(struct arena *arena, const struct value *head)
{
	static const char *const own[] = { "untracked", "context" };
	size_t i;

	for (i = 0; i < COUNT(own); i++)
		if (value_has(head, own[i]))
			head = value_map_with(arena, head, own[i], NULL);
	return head;
}

static const struct value *
make_checkpoint(
    struct run *run, const struct value *head, const struct state_changes *changes)
{
	struct arena *arena = run->batch;
	int64_t parent = parent_of(run);
	const struct value_pair more[] = {
		{ VALUE_TEXT("run"), value_str(arena, run->id) },
		{ VALUE_TEXT("version"), value_int(arena, (int64_t)run->version + 1) },
		{ VALUE_TEXT("at"), value_int(arena, wall_ms()) },
		{ VALUE_TEXT("first"), value_int(arena, changes->first_number) },
		{ VALUE_TEXT("count"),
		    value_int(arena, (int64_t)value_size(changes->messages)) },
		{ VALUE_TEXT("order"), changes->order },
		{ VALUE_TEXT("fields"), changes->fields },
		{ VALUE_TEXT("parent"), parent > 0 ? value_int(arena, parent) : NULL },
		{ VALUE_TEXT("source"),
		    value_str(arena, run->source != NULL ? run->source : "loop") },
		{ VALUE_TEXT("node"),
		    run->node != NULL ? value_str(arena, run->node) : NULL },
	};

	/* The agent's version is in head under a name that the checkpoint's own takes. */
	head = value_map_with(arena, head, "spec", value_get(head, "version"));
	if (value_text_is(value_get(head, "status"), "running"))
		head = without_own(arena, head);
	return value_map_merge(arena, head, value_map_of(arena, more, COUNT(more)));
}

/* Nearly nobody listens to most of them. */
static void
publish_event(struct run *run, const char *topic, const struct value *event)
{
	struct links *links = run->coordinator->links;

	if (links_wants(links, links_of_run(links, run->id), topic))
		links_publish(links, run->id, topic,
		    value_freeze_with(run->batch, event, "seq",
			value_int(run->batch, (int64_t)run->seq)));
}

static void
publish(struct run *run)
{
	size_t i;

	for (i = 0; i < run->events.count; i++) {
		const struct value *event = run->events.items[i];
		const char *kind = value_get_text(event, "kind");

		run->seq++;
		publish_event(
		    run, arena_printf(run->batch, "run.%s.%s", run->id, kind), event);
		if (strcmp(kind, "finished") == 0)
			publish_event(
			    run, arena_printf(run->batch, "ended.%s", run->id), event);
	}
}

/* The commit is in Redis: what it covered can be forgotten everywhere. */
static void
committed(struct run *run, const struct store_committed *outcome)
{
	size_t i;

	suspects_leave(run);
	run->version = outcome->version;
	run->dirty = false;
	run->results_stored = false;
	run->past = run->undone = (struct run_past){ .version = -1 };
	run->source = NULL;
	run->kept_input = NULL;
	run->rest = NULL;
	if (run->state != NULL)
		state_committed(run->state);
	for (i = 0; i < run->answered.count; i++)
		caller_stored(
		    run->coordinator->caller, value_text(run->answered.items[i]));
	publish(run);
	arena_destroy(&run->batch);
	run->batch = arena_new();
	run->events = (struct value_list){ .arena = run->batch };
	run->answered = (struct value_list){ .arena = run->batch };
	run->sent = (struct value_list){ .arena = run->batch };
	if (outcome->cancel_wanted)
		run->cancel_wanted = true;
	if (outcome->waiting > 0)
		run->more_wait = true;
}

static void
log_refusal(const struct run *run, enum store_status status, const char *what)
{
	switch (status) {
	case STORE_FENCED:
		log_info("run=%s thread=%s fenced epoch=%" PRIu64, run->id, run->thread,
		    run->epoch);
		break;
	case STORE_STALE:
		log_warnx("run=%s thread=%s %s is stale version=%" PRIu64, run->id,
		    run->thread, what, run->version);
		break;
	case STORE_FAILED:
	case STORE_DAMAGED:
		log_warnx("run=%s thread=%s %s not stored: %s", run->id, run->thread,
		    what, store_error(run->coordinator->store));
		break;
	default:
		break;
	}
}

enum store_status
run_store(struct run *run, struct arena *arena, const struct value *outcomes)
{
	const struct store_hold hold = { run->thread, run->id, run->epoch, run->version };
	bool stores = value_size(outcomes) > 0;
	enum store_status status;

	/* Whoever finds it stored does not ask for it again: who stored it must know so,
	 * to acknowledge it. */
	if (stores)
		fiber_shield(true);
	status = store_results(run->coordinator->store, arena, &hold, outcomes);
	if (stores)
		fiber_shield(false);
	log_refusal(run, status, "outcome");
	if (status == STORE_FENCED || status == STORE_STALE)
		run_give_up(run);
	else if (status == STORE_OK && stores)
		suspects_leave(run);
	return status;
}

/* What the thread takes with a commit. */
static void
collect(struct run *run, struct state_changes *changes)
{
	bool nothing = run->state == NULL || run_leaves_nothing(run);

	*changes = (struct state_changes){ .fields = value_empty_map(),
		.messages = value_empty_array() };
	if (!nothing)
		state_changes(run->state, run->batch, changes);
	if (changes->order == NULL)
		changes->order = run->order != NULL ? run->order : value_empty_array();
	changes->fields = value_map_merge(
	    run->batch, nothing ? run->undone.fields : run->past.fields, changes->fields);
}

static enum go
commit(struct run *run, const char *status, const struct value *run_fields)
{
	struct state_changes changes;
	struct store_committed outcome = { 0 };
	struct store_commit commit = {
		.thread = run->thread,
		.run = run->id,
		.epoch = run->epoch,
		.version = run->version,
		.status = status,
		.run_fields = run_fields != NULL ? run_fields : value_empty_map(),
		.drop_results = run->results_stored,
	};
	uint64_t asked_ms;
	enum store_status answer;

	collect(run, &changes);
	if (run->kept_input != NULL)
		commit.run_fields = value_map_with(
		    run->batch, commit.run_fields, "input", run->kept_input);
	if (run->commits > 0)
		commit.last_id = arena_printf(run->batch, "%" PRIu64, run->commits);
	commit.id = arena_printf(run->batch, "%" PRIu64, ++run->commits);
	commit.head = make_head(run, status);
	commit.order = changes.order;
	commit.messages = changes.messages;
	commit.fields = changes.fields;
	commit.checkpoint = make_checkpoint(run, commit.head, &changes);
	if (run->is_damaged)
		commit.head = commit.order = NULL;
	commit.events = value_list_end(&run->events);
	commit.last_event = run->seq;
	/* Cancelled half-way, nobody would know whether it was done, and the commit of the end
	 * would build on the wrong version. */
	fiber_shield(true);
	asked_ms = loop_now_ms(run->coordinator->loop);
	answer = store_commit(run->coordinator->store, run->batch, &commit, &outcome);
	fiber_shield(false);
	if (answer != STORE_OK) {
		log_refusal(run, answer, "commit");
		run->is_unsure = true;
		return GO_DROP;
	}
	run->owned_ms = asked_ms;
	committed(run, &outcome);
	return GO_ON;
}

enum go
run_commit(struct run *run)
{
	enum go go = GO_ON;

	if (run_must_stop(run))
		return GO_DROP;
	run->applied = true; /* it is about to call somebody */
	if (run->dirty)
		go = commit(run, "running", NULL);
	return run_must_stop(run) ? GO_DROP : go;
}

/* A run that must not simply be tried again is kept among the dead letters, with the reason. */
static const struct value *
dead_reason(const struct run *run)
{
	return run->fault != NULL && run->fault->fatal &&
		       strcmp(run->fault->type, "PoisonError") == 0
		   ? value_str(run->batch, run->fault->message)
		   : NULL;
}

/* Whether message was there when the run began, and all before it: it is of the run's own input (begin_new), or the last
 * of a conversation that it goes on with. */
static bool
was_said(const struct run *run, const struct value *message)
{
	const char *id = value_get_text(message, "id");
	const char *said = run_record_text(run, "said");
	size_t size = strlen(run->id);

	return id != NULL && ((said != NULL && strcmp(id, said) == 0) ||
				 (strncmp(id, run->id, size) == 0 &&
				     strncmp(id + size, "-0-", 3) == 0));
}

/* text without blanks around it, or NULL: there is nothing else. */
static const struct value *
trimmed(struct arena *arena, const char *text)
{
	size_t size;

	text += strspn(text, BLANKS);
	for (size = strlen(text); size > 0; size--)
		if (strchr(BLANKS, text[size - 1]) == NULL)
			return value_str(arena, arena_copy(arena, text, size));
	return NULL;
}

/* What a child gives its parent: the text of its last AI message that has one (semantics.md 6.20), but nothing that
 * was said before. */
static const struct value *
answer_of(const struct run *run)
{
	const struct value *messages, *message, *answer;
	size_t i;

	if (run->state == NULL ||
	    (!value_has(run->record, "task") && !value_has(run->record, "started_by")))
		return NULL;
	messages = state_messages(run->state);
	for (i = value_size(messages); i > 0; i--) {
		message = value_at(messages, i - 1);
		if (was_said(run, message))
			return NULL;
		answer = chat_is(message, "ai")
			     ? trimmed(run->batch, chat_text(run->batch, message))
			     : NULL;
		if (answer != NULL)
			return answer;
	}
	return NULL;
}

enum go
run_commit_end(struct run *run, const char *status, const struct value *interrupts)
{
	struct arena *arena = run->batch;
	const struct value *fault =
	    run->fault != NULL ? fault_to_value(arena, run->fault) : NULL;
	const struct value *output =
	    run->state != NULL
		? round_write(arena, state_output(run->state, arena),
		      run_round_written(run, arena, run->round, STATE_SHOWN))
		: NULL;
	const struct value *error =
	    run->fault != NULL
		? value_map(arena, "type", value_str(arena, run->fault->type), "message",
		      value_str(arena, run->fault->message), NULL)
		: NULL;
	const struct value *unconfirmed =
	    value_size(run->unconfirmed) > 0 ? run->unconfirmed : NULL;

	run_event(run, "finished",
	    value_map(arena, "status", value_str(arena, status), "error", error, "steps",
		value_int(arena, (int64_t)(run->step - run->first_step)), "unconfirmed",
		unconfirmed, NULL));
	if (commit(run, status,
		value_map(arena, "fault", fault, "output", output, "answer",
		    answer_of(run), "interrupts", interrupts, "dead", dead_reason(run),
		    "unconfirmed", unconfirmed, NULL)) != GO_ON)
		return GO_DROP;
	run_age_end(run, status);
	run_trace_end(run, status);
	return GO_END;
}
