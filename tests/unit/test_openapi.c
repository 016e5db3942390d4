/* The document of `flotilla serve`'s API, and its routes. */
#include <check.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "schema.h"

/* Interface under test */
#include "openapi.h"

TCase *tcase_openapi(void);

static struct arena *arena;
static const struct value *document;

static void
setup(void)
{
	arena = arena_new();
	document = openapi_document(arena);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *const methods[] = { "get", "post", "put", "patch", "delete" };
#define METHODS (sizeof methods / sizeof *methods)

/* "/threads/{}" of "/threads/{thread_id}". */
static const char *
as_route(const char *path)
{
	const char *open = strchr(path, '{'),
		   *close = open != NULL ? strchr(open, '}') : NULL;

	return close == NULL ? path
			     : arena_printf(arena, "%.*s{}%s", (int)(open - path), path,
				   as_route(close + 1));
}

static bool
is_route(const char *method, const char *path)
{
	const char *known, *form;
	size_t i;

	for (i = 0; openapi_route(i, &known, &form); i++)
		if (strcasecmp(known, method) == 0 && strcmp(form, path) == 0)
			return true;
	return false;
}

static bool
is_told(const char *method, const char *form)
{
	const struct value *paths = value_get(document, "paths");
	size_t i, k;

	for (i = 0; i < value_size(paths); i++)
		for (k = 0; k < METHODS; k++)
			if (strcmp(as_route(value_text(paths->pairs[i].key)), form) ==
				0 &&
			    strcasecmp(methods[k], method) == 0 &&
			    value_has(paths->pairs[i].value, methods[k]))
				return true;
	return false;
}

START_TEST(each_route_is_told_and_there_is_no_other)
{
	const struct value *paths = value_get(document, "paths");
	const char *method, *path;
	size_t i, k;

	for (i = 0; openapi_route(i, &method, &path); i++)
		ck_assert_msg(
		    is_told(method, path), "%s %s is not in openapi.yaml", method, path);
	ck_assert_uint_gt(i, 50);
	for (i = 0; i < value_size(paths); i++)
		for (k = 0; k < METHODS; k++) {
			path = as_route(value_text(paths->pairs[i].key));
			ck_assert_msg(!value_has(paths->pairs[i].value, methods[k]) ||
					  is_route(methods[k], path),
			    "%s %s of openapi.yaml is no route", methods[k], path);
		}
}
END_TEST

/* --- operations --------------------------------------------------------------------------- */

/* What a {"$ref"} stands for. */
static const struct value *
meant(const struct value *value)
{
	const char *ref = value_get_text(value, "$ref");
	const struct value *found = document;
	char *rest, *name;

	if (ref == NULL)
		return value;
	ck_assert_msg(strncmp(ref, "#/", 2) == 0, "%s", ref);
	rest = arena_strdup(arena, ref + 2);
	while ((name = strsep(&rest, "/")) != NULL)
		found = value_get(found, name);
	ck_assert_msg(found != NULL, "there is no %s", ref);
	return found;
}

static bool
has_parameter(const struct value *parameters, const char *name)
{
	const struct value *parameter;
	size_t i;

	for (i = 0; i < value_size(parameters); i++) {
		parameter = meant(value_at(parameters, i));
		if (value_text_is(value_get(parameter, "in"), "path") &&
		    value_text_is(value_get(parameter, "name"), name))
			return true;
	}
	return false;
}

START_TEST(each_parameter_of_a_path_is_told)
{
	const struct value *paths = value_get(document, "paths");
	size_t i;

	for (i = 0; i < value_size(paths); i++) {
		const char *path = value_text(paths->pairs[i].key), *open, *name;
		const struct value *told = value_get(paths->pairs[i].value, "parameters");
		size_t count = 0;

		for (open = path; (open = strchr(open, '{')) != NULL; open++, count++) {
			name = arena_copy(arena, open + 1, strcspn(open + 1, "}"));
			ck_assert_msg(has_parameter(told, name), "%s: %s", path, name);
		}
		ck_assert_msg(value_size(told) == count, "%s", path);
	}
}
END_TEST

/* Schemas are used as they are by who checks answers (tests/integration/serve_check.c). */
static void
check_schema(const struct value *schema, const char *where)
{
	const char *reason;
	const struct value *whole =
	    value_map(arena, "allOf", value_array_add(arena, value_empty_array(), schema),
		"components", value_get(document, "components"), NULL);

	ck_assert_msg(schema_usable(arena, whole, &reason) == 0, "%s: %s", where, reason);
}

static void
check_content(const struct value *of, const char *where)
{
	const struct value *content = value_get(meant(of), "content");
	size_t i;

	for (i = 0; i < value_size(content); i++)
		check_schema(value_get(content->pairs[i].value, "schema"), where);
}

static void
check_operation(const struct value *operation, const char *where, struct value_list *ids)
{
	const struct value *responses = value_get(operation, "responses");
	size_t i;

	ck_assert_msg(value_get_text(operation, "operationId") != NULL &&
			  value_get_text(operation, "summary") != NULL,
	    "%s", where);
	value_list_add(ids, value_get(operation, "operationId"));
	if (value_has(operation, "requestBody"))
		check_content(value_get(operation, "requestBody"), where);
	ck_assert_msg(value_size(responses) > 0, "%s", where);
	for (i = 0; i < value_size(responses); i++)
		check_content(responses->pairs[i].value, where);
}

START_TEST(operations_have_names_of_their_own_and_schemas_that_can_be_used)
{
	const struct value *paths = value_get(document, "paths"), *ids;
	struct value_list list = { .arena = arena };
	size_t i, k;

	for (i = 0; i < value_size(paths); i++)
		for (k = 0; k < METHODS; k++)
			if (value_has(paths->pairs[i].value, methods[k]))
				check_operation(
				    value_get(paths->pairs[i].value, methods[k]),
				    value_text(paths->pairs[i].key), &list);
	ids = value_list_end(&list);
	for (i = 0; i < value_size(ids); i++)
		for (k = 0; k < i; k++)
			ck_assert_msg(!value_equal(value_at(ids, i), value_at(ids, k)),
			    "%s twice", value_text(value_at(ids, i)));
}
END_TEST

TCase *
tcase_openapi(void)
{
	TCase *tcase = tcase_create("openapi");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_route_is_told_and_there_is_no_other);
	tcase_add_test(tcase, each_parameter_of_a_path_is_told);
	tcase_add_test(
	    tcase, operations_have_names_of_their_own_and_schemas_that_can_be_used);
	return tcase;
}
