#include "asks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "show.h"

#define SHOWN_MAX 8u

/* What a child asks, with its agent's name. */
static void
add_childs(struct value_list *asks, const struct value *kept)
{
	const struct value *by =
	    value_get(value_get(value_get(kept, "held"), "child"), "name");
	const struct value *list = value_get(kept, "asks"), *ask;
	size_t i;

	for (i = 0; value_is(list, VALUE_ARRAY) && i < list->size; i++) {
		ask = value_at(list, i);
		value_list_add(
		    asks, by == NULL ? ask : value_map_with(asks->arena, ask, "by", by));
	}
}

const struct value *
asks_of(struct arena *arena, const struct value *head)
{
	const struct value *round = value_get(head, "round"), *ask;
	struct value_list asks = { .arena = arena };
	size_t i;

	if (!value_text_is(value_get(head, "status"), "interrupted") ||
	    !value_is(round, VALUE_MAP))
		return value_empty_array();
	for (i = 0; i < round->size; i++) {
		const struct value *kept = round->pairs[i].value;

		ask = value_get(kept, "ask");
		if (value_is(ask, VALUE_MAP))
			value_list_add(&asks, ask);
		/* Unless it is about to be answered. */
		if (!value_has(kept, "given"))
			add_childs(&asks, kept);
	}
	return value_list_end(&asks);
}

/* --- answers ------------------------------------------------------------------------ */

void
asks_say(struct arena *arena, const struct value *asks)
{
	size_t i;

	for (i = 0; i < value_size(asks) && i < SHOWN_MAX; i++)
		complain("  %s",
		    show_line(arena, show_question(arena, value_at(asks, i)), 200));
	if (value_size(asks) > SHOWN_MAX)
		complain("  and %zu more", value_size(asks) - SHOWN_MAX);
}

static bool
wants_decision(const struct value *ask)
{
	const struct value *value = value_get(ask, "value");

	return value_size(value_get(value, "action_requests")) > 0 ||
	       value_text_is(value_get(value, "type"), "tool_approval");
}

bool
asks_want_decision(const struct value *asks)
{
	size_t i;

	for (i = 0; i < value_size(asks); i++)
		if (wants_decision(value_at(asks, i)))
			return true;
	return false;
}

void
asks_say_end(
    struct arena *arena, const char *run, const char *thread, const struct value *asks)
{
	if (asks_want_decision(asks))
		complain(
		    "run %s is interrupted: `flotilla approvals` shows what it wants "
		    "to do, `flotilla approve %s` lets it",
		    run, thread);
	else
		complain(
		    "run %s is interrupted; `flotilla resume %s` goes on", run, thread);
	asks_say(arena, asks);
}

/* JSON, or a text as it is; NULL, and says so: what was to be JSON and is none. */
static const struct value *
value_of(struct arena *arena, const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	if (value != NULL)
		return value;
	if (*text != '{' && *text != '[')
		return value_str(arena, text);
	complain(
	    "the answer '%s' begins like JSON and is none: %s; a text that begins so "
	    "goes in quotes, as JSON",
	    show_line(arena, text, 60), error);
	return NULL;
}

/* The ask that "ID=..." answers: an id may hold a "=" itself. */
static const char *
asked_id(const struct value *asks, const char *pair)
{
	const char *id;
	size_t i;

	for (i = 0; i < value_size(asks); i++) {
		id = value_get_text(value_at(asks, i), "id");
		if (id != NULL && strncmp(pair, id, strlen(id)) == 0 &&
		    pair[strlen(id)] == '=')
			return id;
	}
	return NULL;
}

static bool
is_answered(const struct value_fields *answers, const char *id)
{
	size_t i;

	for (i = 0; i < answers->count; i++)
		if (value_text_is(answers->pairs[i].key, id))
			return true;
	return false;
}

static const char *
answer_by_id(struct arena *arena, const struct value *asks, const char *const *pairs)
{
	struct value_fields answers = { .arena = arena };
	const struct value *value;
	const char *id;

	for (; *pairs != NULL; pairs++) {
		id = asked_id(asks, *pairs);
		if (id == NULL) {
			complain(
			    "--answer '%s': ID=ANSWER is wanted, of an id that waits",
			    show_line(arena, *pairs, 60));
			asks_say(arena, asks);
			return NULL;
		}
		if (is_answered(&answers, id)) {
			complain("--answer: '%s' is answered twice", id);
			return NULL;
		}
		value = value_of(arena, *pairs + strlen(id) + 1);
		if (value == NULL)
			return NULL;
		value_fields_set(&answers, id, value);
	}
	return json_text(arena, value_fields_end(&answers));
}

static const char *
answer_of_file(struct arena *arena, const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	struct packet packet = { 0 };
	char buffer[65536];
	const struct value *value;
	const char *error;
	size_t size;

	if (file == NULL) {
		complain("--file '%s': %s", path, strerror(errno));
		return NULL;
	}
	while ((size = fread(buffer, 1, sizeof buffer, file)) > 0 &&
	       packet.size <= INPUT_BYTES_MAX)
		packet_append(&packet, buffer, size);
	if (file != stdin)
		fclose(file);
	value =
	    json_parse(arena, packet.size > 0 ? packet.data : "", packet.size, &error);
	packet_release(&packet);
	if (value != NULL)
		return json_text(arena, value);
	complain("--file '%s': no JSON: %s", path, error);
	return NULL;
}

const char *
asks_answer(struct arena *arena, const struct value *asks, const struct asks_given *given)
{
	bool by_id = given->by_id != NULL && given->by_id[0] != NULL;
	const struct value *value;

	if ((given->text != NULL) + by_id + (given->file != NULL) > 1) {
		complain("ANSWER, --answer and --file exclude each other");
		return NULL;
	}
	if (by_id)
		return answer_by_id(arena, asks, given->by_id);
	if (given->file != NULL)
		return answer_of_file(arena, given->file);
	if (given->text != NULL) {
		value = value_of(arena, given->text);
		return value != NULL ? json_text(arena, value) : NULL;
	}
	if (value_size(asks) == 0)
		return "null";
	complain("an answer is wanted: ANSWER%s, or --file FILE",
	    value_size(asks) == 1 ? "" : " as a map of ids, --answer ID=ANSWER");
	asks_say(arena, asks);
	return NULL;
}
