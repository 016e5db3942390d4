#include "meaning_trial.h"

#include <check.h>
#include <string.h>

#include "bounds.h"
#include "embed.h"
#include "fiber.h"
#include "items.h"
#include "literal.h"
#include "vector.h"

struct meaning_model model;

static const struct value *
count_of(struct arena *arena, const char *text, const char *word)
{
	int count = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		count++;
	}
	return value_int(arena, count);
}

/* Returns of text what is known of it, and then as many others as are asked for. */
static const struct value *
vector_of(struct arena *arena, const char *text)
{
	struct value_list numbers = { .arena = arena };
	int i;

	value_list_add(&numbers, count_of(arena, text, "tea"));
	value_list_add(&numbers, count_of(arena, text, "dog"));
	for (i = strstr(text, "odd") != NULL ? 1 : 2; i < model.size; i++)
		value_list_add(&numbers, value_float(arena, 0.001));
	return vector_new(arena, value_list_end(&numbers));
}

static void
note_call(const struct value *texts)
{
	size_t bytes = 0, i;

	ck_assert_uint_le(value_size(texts), EMBEDDED_TEXTS_MAX);
	for (i = 0; i < value_size(texts); i++)
		bytes += value_at(texts, i)->size;
	model.calls++;
	model.texts += value_size(texts);
	if (value_size(texts) > model.most)
		model.most = value_size(texts);
	if (bytes > model.most_bytes)
		model.most_bytes = bytes;
}

static const struct value *
embed(void *arg, struct arena *arena, const char *name, const struct value *texts)
{
	struct value_list vectors = { .arena = arena };
	size_t i;

	ck_assert_ptr_eq(arg, &model);
	ck_assert_uint_le(value_size(texts), EMBEDDED_TEXTS_MAX);
	note_call(texts);
	while (model.is_held && name != NULL)
		if (fiber_yield() == -1)
			return NULL;
	for (i = 0; i < value_size(texts); i++) {
		const char *text = value_text(value_at(texts, i));

		model.last = arena_strdup(model.arena, text);
		value_list_add(&vectors, vector_of(arena, text));
	}
	if (model.answer != NULL)
		return strcmp(model.answer, "cancelled") == 0
			   ? NULL
			   : literal(arena, model.answer);
	return value_map(arena, "model",
	    value_str(arena, name != NULL ? name : model.model), "fields",
	    literal(arena, model.fields), "vectors", value_list_end(&vectors), NULL);
}

void
meaning_open(void)
{
	trial_open();
	memset(&model, 0, sizeof model);
	model.model = "m:1";
	model.fields = "[]";
	model.size = 3;
	model.arena = trial.arena;
	store_embed_with(trial.a, embed, &model);
}

const struct value *
meaning_run_op(const char *op)
{
	const struct value *answer =
	    items_do(trial.a, trial.arena, literal(trial.arena, op));

	ck_assert_ptr_nonnull(answer);
	return answer;
}

void
meaning_put(const char *where, const char *key, const char *value)
{
	ck_assert(
	    value_has(meaning_run_op(arena_printf(trial.arena,
			  "{'op': 'put', 'namespace': %s, 'key': '%s', 'value': %s}",
			  where, key, value)),
		"item"));
}

const char *
meaning_keys_of(const char *more)
{
	const struct value *items = value_get(
	    meaning_run_op(arena_printf(trial.arena, "{'op': 'search', %s}", more)),
	    "items");
	const char *text = "";
	double last = 2;
	size_t i;

	ck_assert_msg(items != NULL, "%s", more);
	for (i = 0; i < value_size(items); i++) {
		const struct value *item = value_at(items, i);
		double score = value_number(value_get(item, "score"), 9);

		ck_assert(score <= last);
		last = score;
		text =
		    arena_printf(trial.arena, "%s%s", text, value_get_text(item, "key"));
	}
	return text;
}

void
meaning_put_four(void)
{
	meaning_put("['u', '1']", "a", "{'text': 'a dog'}");
	meaning_put("['u', '1']", "b", "{'text': 'tea'}");
	meaning_put("['u', '2']", "c", "{'text': 'tea for the dog', 'n': 1}");
	meaning_put("['v']", "d", "{'text': 'tea tea dog', 'n': 1}");
}
