#include "serve_check.h"

#include <check.h>
#include <ctype.h>
#include <string.h>

#include "json.h"
#include "schema.h"

/* Whether path, up to its query, is of that form: "/threads/{thread_id}". */
static bool
fits(const char *form, const char *path)
{
	for (;; form++, path++) {
		if (*form == '{') {
			if (strcspn(path, "/?") == 0)
				return false;
			form += strcspn(form, "}") + 1;
			path += strcspn(path, "/?");
		}
		if (*form == '\0' || *form != *path)
			return *form == '\0' && (*path == '\0' || *path == '?');
	}
}

/* What is said of that method and path, or NULL. Of two forms one has no parameter where the other has, and stands before it. */
static const struct value *
operation_of(struct arena *arena, const struct value *document, const char *method,
    const char *path)
{
	const struct value *paths = value_get(document, "paths"), *found;
	char *small = arena_strdup(arena, method), *c;
	size_t i;

	for (c = small; *c != '\0'; c++)
		*c = (char)tolower(*c);
	for (i = 0; i < value_size(paths); i++) {
		found = value_get(paths->pairs[i].value, small);
		if (found != NULL && fits(value_text(paths->pairs[i].key), path))
			return found;
	}
	return NULL;
}

/* The response of a reference to one of all. */
static const struct value *
meant(const struct value *document, const struct value *response)
{
	const char *ref = value_get_text(response, "$ref");
	const struct value *all =
	    value_get(value_get(document, "components"), "responses");

	return ref == NULL ? response : value_get(all, strrchr(ref, '/') + 1);
}

/* The schema of what has a JSON content, which uses those of the document; NULL: it has none. */
static const struct value *
schema_of(struct arena *arena, const struct value *document, const struct value *holder)
{
	const struct value *content = value_get(holder, "content");
	const struct value *schema =
	    value_get(value_get(content, "application/json"), "schema");

	return schema == NULL
		   ? NULL
		   : value_map(arena, "allOf",
			 value_array_add(arena, value_empty_array(), schema),
			 "components", value_get(document, "components"), NULL);
}

void
serve_check(struct arena *arena, const struct value *document, const char *method,
    const char *path, long status, const struct value *json)
{
	const struct value *operation = operation_of(arena, document, method, path);
	const struct value *responses = value_get(operation, "responses");
	const struct value *response =
	    value_get(responses, arena_printf(arena, "%ld", status));
	const struct value *schema;
	const char *reason = NULL;

	if (operation == NULL)
		return;
	ck_assert_msg(response != NULL || status >= 400,
	    "%s %s: openapi.yaml knows no answer %ld", method, path, status);
	if (json == NULL)
		return;
	response = meant(
	    document, response != NULL ? response : value_get(responses, "default"));
	schema = schema_of(arena, document, response);
	ck_assert_msg(schema != NULL,
	    "%s %s: openapi.yaml knows no JSON of an answer %ld: %s", method, path,
	    status, json_text(arena, json));
	ck_assert_msg(schema_check(arena, schema, json, &reason) == 0,
	    "%s %s: %ld is not as openapi.yaml says: %s\n%s", method, path, status,
	    reason, json_text(arena, json));
}

void
serve_check_body(struct arena *arena, const struct value *document, const char *method,
    const char *path, const struct value *body)
{
	const struct value *operation = operation_of(arena, document, method, path);
	const struct value *schema =
	    schema_of(arena, document, value_get(operation, "requestBody"));
	const char *reason = NULL;

	if (operation == NULL)
		return;
	ck_assert_msg(schema != NULL || value_size(body) == 0,
	    "%s %s: openapi.yaml knows no body", method, path);
	ck_assert_msg(schema_check(arena, schema, body, &reason) == 0,
	    "%s %s: a body that was taken is not as openapi.yaml says: %s\n%s", method,
	    path, reason, json_text(arena, body));
}
