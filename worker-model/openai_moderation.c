#include "openai_moderation.h"

#include "chat.h"
#include "json.h"

const struct value *
openai_moderation_request(const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	size_t count = value_size(ask->messages);
	const struct value *last = count == 0 ? NULL : value_at(ask->messages, count - 1);

	(void)stream;
	(void)error_r;
	return value_map(arena, "model", value_str(arena, ask->model), "input",
	    last == NULL ? value_str(arena, "") : chat_said(arena, last), NULL);
}

/* Every value of map is of the wanted kind. */
static bool
holds(const struct value *map, bool numbers)
{
	size_t i;

	if (!value_is(map, VALUE_MAP))
		return false;
	for (i = 0; i < map->size; i++)
		if (numbers ? !value_is_number(map->pairs[i].value)
			    : !value_is(map->pairs[i].value, VALUE_BOOL) &&
				  !value_is_nil(map->pairs[i].value))
			return false;
	return true;
}

const struct value *
openai_moderation_answer(
    struct arena *arena, const struct value *body, const char **error_r)
{
	const struct value *result = value_at(value_get(body, "results"), 0);
	const struct value *categories = value_get(result, "categories");
	const struct value *scores = value_get(result, "category_scores");

	if (!value_is(value_get(result, "flagged"), VALUE_BOOL)) {
		*error_r = "it has no result that says whether the text is flagged";
		return NULL;
	}
	if (!holds(categories, false) || !holds(scores, true)) {
		*error_r = "its categories and scores are not what they must be";
		return NULL;
	}
	return chat_ai(
	    arena, json_text(arena,
		       value_map(arena, "flagged", value_get(result, "flagged"),
			   "categories", categories, "category_scores", scores, NULL)));
}
