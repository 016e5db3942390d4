/* run_answer: what a resume answers of what a pause asks (run_round.c). */
#include "run_round.h"

#include <ctype.h>
#include <string.h>

#include "chat.h"
#include "json.h"
#include "schema.h"
#include "utf8.h"

#define SHOWN_BYTES 60u
#define IDS_SHOWN 20u /* of those that are asked */

static const char *
ask_id(const struct value *kept)
{
	return value_get_text(value_get(kept, "ask"), "id");
}

/* What kept asks, one of them or a child's. */
static size_t
ask_count(const struct value *kept)
{
	if (value_has(kept, "held"))
		return value_has(kept, "given") ? 0 : value_size(value_get(kept, "asks"));
	return ask_id(kept) != NULL ? 1 : 0;
}

static const struct value *
ask_at(const struct value *kept, size_t index)
{
	return value_has(kept, "held") ? value_at(value_get(kept, "asks"), index)
				       : value_get(kept, "ask");
}

static const struct value *
ask_call(const struct value *kept)
{
	return value_get(value_get(value_get(kept, "ask"), "value"), "tool_call");
}

/* --- which answer is for which question ----------------------------------------------- */

/* {id: true} of what is asked. */
static const struct value *
asked_ids(struct arena *arena, const struct value *round)
{
	struct value_fields ids = { .arena = arena };
	const struct value *id;
	size_t i, j;

	for (i = 0; i < value_size(round); i++)
		for (j = 0; j < ask_count(round->pairs[i].value); j++) {
			id = value_get(ask_at(round->pairs[i].value, j), "id");
			if (value_is(id, VALUE_STR))
				value_fields_put(&ids, id, value_bool(true));
		}
	return value_fields_end(&ids);
}

bool
run_answer_fits(
    struct arena *arena, const struct value *round, const struct value *answers)
{
	const struct value *ids = asked_ids(arena, round);
	size_t i;

	for (i = 0; i < value_size(answers); i++)
		if (!value_has(ids, value_text(answers->pairs[i].key)))
			return false;
	return true;
}

/* As a text, the first of them. */
static const char *
ids_text(struct arena *arena, const struct value *ids)
{
	size_t count = value_size(ids), i;
	const char *text = "";

	for (i = 0; i < count && i < IDS_SHOWN; i++)
		text = arena_printf(arena, "%s%s'%s'", text, i > 0 ? ", " : "",
		    value_text(ids->pairs[i].key));
	return count <= IDS_SHOWN
		   ? text
		   : arena_printf(arena, "%s and %zu more", text, count - IDS_SHOWN);
}

bool
run_answer_wanted(const struct value *round)
{
	size_t i;

	for (i = 0; i < value_size(round); i++)
		if (ask_count(round->pairs[i].value) > 0)
			return true;
	return false;
}

/* "r1.2.0", "r1.2.0~1", "r1.2.0:1": what we make is never meant as an answer. */
static bool
looks_like_id(const char *key)
{
	const char *last = strrchr(key, '.'), *at = last;

	if (last == NULL)
		return false;
	while (at > key && isdigit((unsigned char)at[-1]))
		at--;
	if (at == last || at <= key + 1 || at[-1] != '.')
		return false;
	at = last + 1 + strspn(last + 1, "0123456789abcdefghijklmnopqrstuvwxyz");
	if (at > last + 1 && (*at == '~' || *at == ':') && isdigit((unsigned char)at[1]))
		at += 1 + strspn(at + 1, "0123456789");
	return at > last + 1 && *at == '\0';
}

/* The first key of answer that is no id asked for, or NULL. */
static const char *
unasked(struct value_lookup *ids, const struct value *answer)
{
	size_t i;

	for (i = 0; i < value_size(answer); i++)
		if (value_look(ids, answer->pairs[i].key) == NULL)
			return value_text(answer->pairs[i].key);
	return NULL;
}

/* It answers by id: one key of it is an id that is asked, or all look like one. */
static bool
is_by_id(struct value_lookup *ids, const struct value *answer)
{
	size_t alike = 0, i;

	for (i = 0; value_is(answer, VALUE_MAP) && i < answer->size; i++) {
		if (value_look(ids, answer->pairs[i].key) != NULL)
			return true;
		alike += looks_like_id(value_text(answer->pairs[i].key));
	}
	return alike > 0 && alike == answer->size;
}

static enum go
wrong_id(struct run *run, const struct value *ids, const char *id)
{
	return run_fail(run, "ValueError",
	    "resume: no interrupt '%s' waits on thread '%s'; %s: %s", id, run->thread,
	    value_size(ids) == 1 ? "this one does" : "these do",
	    ids_text(run->arena, ids));
}

/* The answers by id: answer itself when it is a map of them, or to the only one. It may be large, and much be asked. */
static enum go
by_id(struct run *run, const struct value *round, const struct value *answer,
    const struct value **answers_r)
{
	const struct value *ids = asked_ids(run->arena, round);
	struct value_lookup lookup = { .map = ids, .arena = run->arena };
	size_t count = value_size(ids);

	if (value_is_nil(answer))
		return run_fail(run, "ValueError",
		    "resume: thread '%s' waits for an answer to %s, and null is none",
		    run->thread, ids_text(run->arena, ids));
	if (is_by_id(&lookup, answer)) {
		*answers_r = answer;
		return unasked(&lookup, answer) == NULL
			   ? GO_ON
			   : wrong_id(run, ids, unasked(&lookup, answer));
	}
	if (count != 1)
		return run_fail(run, "ValueError",
		    "resume: %zu interrupts wait for an answer, so it must be a map of "
		    "their ids to answers, and no others: %s",
		    count, ids_text(run->arena, ids));
	*answers_r = value_map(run->arena, value_text(ids->pairs[0].key), answer, NULL);
	return GO_ON;
}

/* --- what an answer does --------------------------------------------------------------- */

static enum go
refuse_answer(struct run *run, const char *id, const struct value *answer)
{
	const char *text = json_text(run->arena, answer);

	return run_fail(run, "ValueError",
	    "resume: the answer to '%s' must be \"repeat\", \"fail\" or {\"respond\": "
	    "\"text\"}, not %.*s",
	    id, (int)utf8_prefix(text, strlen(text), SHOWN_BYTES), text);
}

static const struct value *
responded(struct run *run, const struct value *tool_call, const char *text)
{
	struct arena *arena = run->arena;
	const struct value *message =
	    chat_tool(arena, text, value_get_text(tool_call, "id"),
		value_get_text(tool_call, "name"), "success");
	const struct value *command = value_map(arena, "update",
	    value_map(arena, "messages", value_array(arena, &message, 1), NULL), NULL);

	return value_map(arena, "commands", value_array(arena, &command, 1), NULL);
}

static void
decided_event(
    struct run *run, const struct value *kept, const char *id, const struct value *answer)
{
	run_event(run, "decided",
	    value_map(run->batch, "call", value_str(run->batch, id), "tool",
		value_copy(run->batch, value_get(ask_call(kept), "name")), "answer",
		value_copy(run->batch, answer), NULL));
}

/* A call whose fate is unknown. */
static enum go
decide(struct run *run, const struct value *kept, const struct value *answer,
    const struct value **kept_r)
{
	const char *id = ask_id(kept), *text = value_get_text(answer, "respond");
	const struct value *call = ask_call(kept);
	const char *name = value_get_text(call, "name");

	*kept_r = value_map_with(run->arena, kept, "ask", NULL);
	if (value_text_is(answer, "fail")) {
		run->applied = true; /* the pause is over, too */
		return run_fail(run, "UncertainError",
		    "nobody knows whether call '%s' of tool '%s' took effect, and the "
		    "answer was to give up",
		    id, name != NULL ? name : "?");
	}
	if (value_is(answer, VALUE_MAP) && value_size(answer) == 1 && text != NULL)
		*kept_r = value_map_with(
		    run->arena, *kept_r, "outcome", responded(run, call, text));
	else if (!value_text_is(answer, "repeat"))
		return refuse_answer(run, id, answer);
	decided_event(run, kept, id, answer);
	return GO_ON;
}

/* What is known of the question that has been answered now, or NULL, behind what list, or NULL, has of those answered before it. */
static const struct value *
add_known(struct arena *arena, const struct value *kept, const struct value *list,
    const struct value *known)
{
	size_t answered = value_size(value_get(kept, "answers"));

	if (value_is_nil(known) && list == NULL)
		return NULL;
	if (list == NULL)
		list = value_empty_array();
	while (value_size(list) < answered)
		list = value_array_add(arena, list, value_nil());
	return value_array_add(arena, list, known != NULL ? known : value_nil());
}

/* Which calls it was about, and who asked it. */
static const struct value *
with_known(struct arena *arena, const struct value *kept)
{
	const struct value *calls =
	    add_known(arena, kept, value_get(kept, "answered_calls"),
		value_get(value_get(kept, "ask"), "tool_call_ids"));
	const struct value *askers =
	    add_known(arena, kept, value_get(kept, "askers"), value_get(kept, "asker"));

	kept = value_map_with(arena, kept, "answered_calls", calls);
	kept = value_map_with(arena, kept, "askers", askers);
	return value_map_with(arena, kept, "asker", NULL);
}

/* A call that asked itself: it runs again, with one answer more, if that is one. */
static enum go
take_answer(struct run *run, const struct value *kept, const struct value *answer,
    const struct value **kept_r)
{
	struct arena *arena = run->arena;
	const struct value *answers = value_get(kept, "answers");
	const struct value *schema = value_get(value_get(kept, "ask"), "response_schema");
	const char *reason;

	if (schema_check(arena, schema, answer, &reason) == -1)
		return run_fail(run, "ValueError",
		    "resume: the answer to '%s' does not fit: %s", ask_id(kept), reason);
	decided_event(run, kept, ask_id(kept), answer);
	kept = with_known(arena, kept);
	answers = value_array_add(
	    arena, answers != NULL ? answers : value_empty_array(), answer);
	kept = value_map_with(arena, kept, "answers", answers);
	kept = value_map_with(arena, kept, "interrupt", NULL);
	*kept_r = value_map_with(arena, kept, "ask", NULL);
	return GO_ON;
}

/* Whether the child that asks would take the answer: it is asked by its parent alone, and must not fail of it. */
static enum go
check_for_child(struct run *run, const struct value *ask, const struct value *answer)
{
	const char *id = value_get_text(ask, "id"), *reason;
	bool is_uncertain =
	    value_text_is(value_get(value_get(ask, "value"), "type"), "uncertain");

	if (schema_check(
		run->arena, value_get(ask, "response_schema"), answer, &reason) == -1)
		return run_fail(run, "ValueError",
		    "resume: the answer to '%s' does not fit: %s", id, reason);
	if (is_uncertain && !value_text_is(answer, "fail") &&
	    !value_text_is(answer, "repeat") &&
	    !(value_is(answer, VALUE_MAP) && value_size(answer) == 1 &&
		value_get_text(answer, "respond") != NULL))
		return refuse_answer(run, id, answer);
	return GO_ON;
}

/* Answers to what a child asks: it goes on with those that are there, and asks what is left once more. */
static enum go
give_child(struct run *run, const struct value *kept, const struct value *answers,
    const struct value **kept_r)
{
	struct value_fields given = { .arena = run->arena };
	const struct value *ask, *answer;
	enum go go = GO_ON;
	size_t i;

	for (i = 0; go == GO_ON && i < ask_count(kept); i++) {
		ask = ask_at(kept, i);
		answer = value_get(answers, value_get_text(ask, "id"));
		if (answer == NULL)
			continue;
		go = check_for_child(run, ask, answer);
		value_fields_set(&given, value_get_text(ask, "id"), answer);
		if (go == GO_ON)
			run_event(run, "decided",
			    value_map(run->batch, "call",
				value_copy(run->batch, value_get(ask, "id")), "answer",
				value_copy(run->batch, answer), NULL));
	}
	if (given.count > 0)
		*kept_r =
		    value_map_with(run->arena, kept, "given", value_fields_end(&given));
	return go;
}

enum go
run_answer(struct run *run, const struct value *round, const struct value *answer)
{
	struct value_fields decided = { .arena = run->arena };
	const struct value *answers = NULL, *kept, *one;
	enum go go = by_id(run, round, answer, &answers);
	size_t told = run->events.count, i;

	for (i = 0; go == GO_ON && i < value_size(round); i++) {
		kept = round->pairs[i].value;
		if (value_has(kept, "held"))
			go = give_child(run, kept, answers, &kept);
		one = ask_id(kept) != NULL ? value_get(answers, ask_id(kept)) : NULL;
		if (one != NULL && value_get_bool(kept, "interrupt", false))
			go = take_answer(run, kept, one, &kept);
		else if (one != NULL)
			go = decide(run, kept, one, &kept);
		value_fields_set(&decided, value_text(round->pairs[i].key), kept);
	}
	if (go == GO_ON)
		run->round = value_fields_end(&decided);
	else if (!run->applied)
		run->events.count = told; /* refused as a whole */
	return go;
}
