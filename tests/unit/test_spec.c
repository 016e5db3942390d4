#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "literal.h"
#include "sample_spec.h"

/* Interface under test */
#include "spec.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct spec *
load(const char *text)
{
	return sample_spec(arena, text);
}

/* --- what is refused ---------------------------------------------------------------- */

/* `model: m:x` stands in front of each text that does not begin with "!". */
static const struct {
	const char *text, *path;
	const char *words[3];
} refused[] = {
	/* the agent */
	{ "![]", "", { "a map", "a list" } },
	{ "!null", "", { "a map", "null" } },
	{ "midleware: []", "/midleware", { "\"midleware\"", "\"middleware\"" } },
	{ "zzz: 1", "/zzz", { "\"zzz\"" } },
	{ "!tools: []", "/model", { "needs a model", "openai:gpt-4o" } },
	{ "!model: gpt-4o", "/model", { "\"gpt-4o\"", "provider:name" } },
	{ "!model: 'openai:'", "/model", { "provider:name" } },
	{ "!model: ':x'", "/model", { "provider:name" } },
	{ "!model: 4", "/model", { "a string", "an integer" } },
	{ "!model: {name: x}", "/model", { "a string", "a map" } },
	{ "name: ''", "/name", { "name", "empty" } },
	{ "name: [a]", "/name", { "a string", "a list" } },
	{ "name: \"a\\tb\"", "/name", { "control character" } },
	{ "description: 1", "/description", { "a string" } },
	{ "system_prompt: [a]", "/system_prompt", { "a string", "a list" } },
	{ "model_settings: hot", "/model_settings", { "a map", "a string" } },
	{ "context: 1", "/context", { "JSON Schema" } },
	{ "context: {type: objekt}", "/context", { "JSON Schema" } },
	{ "tool_errors: rise", "/tool_errors", { "message", "\"raise\"?" } },
	{ "tool_errors: true", "/tool_errors", { "raise", "a boolean" } },
	{ "cache: often", "/cache", { "true, or {ttl: seconds}" } },
	{ "cache: {tll: 1}", "/cache/tll", { "did you mean \"ttl\"" } },
	{ "cache: {ttl: 0}", "/cache/ttl", { "from 0.001" } },
	{ "cache: {ttl: long}", "/cache/ttl", { "must be seconds" } },
	{ "debug: maybe", "/debug", { "true or false" } },
	{ "recursion_limit: 0", "/recursion_limit", { "at least 1" } },
	{ "recursion_limit: ten", "/recursion_limit", { "an integer" } },
	{ "max_concurrency: 0", "/max_concurrency", { "at least 1" } },
	{ "max_concurrency: 1.5", "/max_concurrency", { "an integer" } },

	/* tools */
	{ "tools: add", "/tools", { "a list", "a string" } },
	{ "tools: [add, 3]", "/tools/1", { "name", "an integer" } },
	{ "tools: ['']", "/tools/0", { "empty" } },
	{ "tools: [{description: x}]", "/tools/0", { "needs a name" } },
	{ "tools: [{name: a, parametres: {}}]", "/tools/0/parametres",
	    { "\"parametres\"", "\"parameters\"" } },
	{ "tools: [{name: a, parameters: 1}]", "/tools/0/parameters", { "JSON Schema" } },
	{ "tools: [{name: a, parameters: {type: string}}]", "/tools/0/parameters/type",
	    { "object" } },
	{ "tools: [{name: a, parameters: {properties: {b: {type: text}}}}]",
	    "/tools/0/parameters", { "JSON Schema", "b" } },
	{ "tools: [{name: a, return_direct: 'yes'}]", "/tools/0/return_direct",
	    { "true or false" } },
	{ "tools: [{name: a, description: 1}]", "/tools/0/description", { "a string" } },
	{ "tools: [{name: 7}]", "/tools/0/name", { "a string" } },

	/* middleware */
	{ "middleware: model_retry", "/middleware", { "a list" } },
	{ "middleware: [modelretry]", "/middleware/0",
	    { "\"modelretry\"", "\"model_retry\"" } },
	{ "middleware: [qqqqqqqq]", "/middleware/0", { "no middleware \"qqqqqqqq\"" } },
	{ "middleware: [{todo_list: null, model_retry: null}]", "/middleware/0",
	    { "one middleware, not 2", "entry" } },
	{ "middleware: [{}]", "/middleware/0", { "empty map" } },
	{ "middleware: [[model_retry]]", "/middleware/0", { "a list" } },
	{ "middleware: [todo_list, {model_retry: {max_retris: 1}}]",
	    "/middleware/1/model_retry/max_retris",
	    { "\"max_retris\"", "\"max_retries\"" } },
	{ "middleware: [{model_retry: {max_retries: -1}}]",
	    "/middleware/0/model_retry/max_retries", { "at least" } },
	{ "middleware: [{model_retry: 3}]", "/middleware/0/model_retry", { "a map" } },
	{ "middleware: [todo_list, model_retry, todo_list]", "/middleware/2",
	    { "\"todo_list\"", "/middleware/0", "remove" } },
	{ "middleware: [shell_tool, {shell_tool: {tool_name: other}}]", "/middleware/1",
	    { "\"shell_tool\"", "/middleware/0", "remove" } },

	/* state */
	{ "state: [a]", "/state", { "a map", "a list" } },
	{ "state: {a: integer}", "/state/a", { "{type: integer", "a string" } },
	{ "state: {a: {tpye: integer}}", "/state/a/tpye", { "\"tpye\"", "\"type\"" } },
	{ "state: {a: {type: sting}}", "/state/a/type", { "\"sting\"", "\"string\"" } },
	{ "state: {a: {type: int}}", "/state/a/type", { "\"int\"", "integer, number" } },
	{ "state: {a: {type: 1}}", "/state/a/type", { "a string" } },
	{ "state: {a: {reducer: apend}}", "/state/a/reducer",
	    { "\"apend\"", "\"append\"?" } },
	{ "state: {a: {type: string, reducer: append}}", "/state/a/reducer",
	    { "a list", "string" } },
	{ "state: {a: {type: array, reducer: add}}", "/state/a/reducer",
	    { "a number", "array" } },
	{ "state: {a: {type: integer, reducer: merge}}", "/state/a/reducer",
	    { "a map", "integer" } },
	{ "state: {a: {type: integer, default: x}}", "/state/a/default",
	    { "an integer" } },
	{ "state: {a: {type: integer, default: 1.5}}", "/state/a/default",
	    { "an integer" } },
	{ "state: {a: {reducer: append, default: {}}}", "/state/a/default",
	    { "a list" } },
	{ "state: {a: {reducer: append, default: {__overwrite__: []}}}",
	    "/state/a/default", { "a list" } },
	{ "state: {a: {private: 1}}", "/state/a/private", { "true or false" } },
	{ "state: {a: {ephemeral: 'no'}}", "/state/a/ephemeral", { "true or false" } },
	{ "state: {messages: {type: array}}", "/state/messages",
	    { "\"messages\"", "built in" } },
	{ "state: {jump_to: {}}", "/state/jump_to", { "built in" } },
	{ "state: {structured_response: {}}", "/state/structured_response",
	    { "built in" } },
	{ "state: {'': {}}", "/state/", { "needs a name" } },
	{ "state: {a/b~c: 1}", "/state/a~1b~0c", { "a map" } },

	/* response_format */
	{ "response_format: tool", "/response_format", { "a map", "a string" } },
	{ "response_format: {strategy: tool}", "/response_format", { "a schema" } },
	{ "response_format: {schema: {}, schemas: [{}]}", "/response_format",
	    { "not both" } },
	{ "response_format: {strategy: tol, schema: {}}", "/response_format/strategy",
	    { "\"tol\"", "\"tool\"?" } },
	{ "response_format: {schema: {type: array}}", "/response_format/schema/type",
	    { "object" } },
	{ "response_format: {schema: 1}", "/response_format/schema", { "JSON Schema" } },
	{ "response_format: {schema: {properties: {a: {type: 4}}}}",
	    "/response_format/schema", { "JSON Schema" } },
	{ "response_format: {schemas: []}", "/response_format/schemas",
	    { "at least one" } },
	{ "response_format: {schemas: [{title: A}, {title: A}]}",
	    "/response_format/schemas/1/title", { "\"A\"", "two" } },
	{ "response_format: {strategy: provider, schemas: [{title: A}, {title: B}]}",
	    "/response_format/schemas", { "one schema", "tool strategy" } },
	{ "response_format: {schema: {title: A}, handle_errors: 1}",
	    "/response_format/handle_errors", { "true, false" } },
	{ "response_format: {schema: {title: A}, handle_errors: [1]}",
	    "/response_format/handle_errors/0", { "error type" } },
	{ "response_format: {schema: {title: A}, tool_message_content: 1}",
	    "/response_format/tool_message_content", { "a string" } },
	{ "response_format: {schema: {title: A}, strict: 1}", "/response_format/strict",
	    { "true or false" } },
	{ "response_format: {schema: {title: 1}}", "/response_format/schema/title",
	    { "a text" } },
	{ "response_format: {title: A, handle_errors: true}", "/response_format/title",
	    { "no key \"title\"" } },
	{ "response_format: {handle_errors: true, schem: {}}", "/response_format/schem",
	    { "did you mean \"schema\"?" } },
	{ "response_format: {title: A, type: array}", "/response_format/type",
	    { "\"object\"" } },
	{ "tools: [A]\nresponse_format: {title: A, type: object}",
	    "/response_format/title", { "a tool \"A\"" } },
	{ "model_profile: true", "/model_profile", { "a map" } },
	{ "model_profile: {structured_outpt: true}", "/model_profile/structured_outpt",
	    { "did you mean \"structured_output\"?" } },
	{ "model_profile: {structured_output: 1}", "/model_profile/structured_output",
	    { "true or false" } },
	{ "tools: [A]\nresponse_format: {schema: {title: A}}",
	    "/response_format/schema/title", { "a tool \"A\"" } },

	/* interrupts */
	{ "interrupt_before: 1", "/interrupt_before", { "a list of node names" } },
	{ "interrupt_before: [1]", "/interrupt_before/0", { "name of a node" } },
	{ "interrupt_before: [tools]", "/interrupt_before/0", { "no node \"tools\"" } },
	{ "tools: [add]\ninterrupt_after: [model, tool]", "/interrupt_after/1",
	    { "\"tool\"", "\"tools\"?" } },
	{ "middleware: [todo_list]\ninterrupt_before: [todo_list.aftermodel]",
	    "/interrupt_before/0", { "\"todo_list.after_model\"?" } },
	{ "interrupt_after: [__end__]", "/interrupt_after/0", { "\"__end__\"" } },

	/* script */
	{ "script: [hello]", "/script", { "a map" } },
	{ "!model: scripted:a", "/model", { "scripted", "'a'" } },
	{ "!model: scripted:a\nscript: {b: []}", "/model", { "no replies of 'a'" } },
	{ "script: {x: hello}", "/script/x", { "list of replies" } },
	{ "script: {x: [hello]}", "/script/x/0", { "a reply" } },
	{ "script: {x: [{contents: hello}]}", "/script/x/0/contents",
	    { "\"contents\"", "\"content\"" } },
	{ "script: {x: [{content: 1}]}", "/script/x/0/content", { "a string" } },
	{ "script: {x: [{tool_calls: [{id: c1}]}]}", "/script/x/0/tool_calls/0",
	    { "name of a tool" } },
	{ "script: {x: [{tool_calls: [{name: a, args: 1}]}]}",
	    "/script/x/0/tool_calls/0/args", { "a map" } },
	{ "script: {x: [{http_error: oops}]}", "/script/x/0/http_error", { "status" } },
};

START_TEST(a_wrong_spec_is_refused_with_place_and_reason)
{
	const char *text = refused[_i].text, *path = NULL, *error = NULL;
	const struct spec *spec;
	size_t i;

	text = text[0] == '!' ? text + 1 : arena_printf(arena, "model: m:x\n%s\n", text);
	spec = spec_load(arena, sample_source(arena, text), "test", &path, &error);
	ck_assert_msg(spec == NULL, "%s: taken", text);
	ck_assert_str_eq(path, refused[_i].path);
	for (i = 0; i < 3 && refused[_i].words[i] != NULL; i++)
		ck_assert_msg(strstr(error, refused[_i].words[i]) != NULL,
		    "%s: \"%s\" does not say %s", text, error, refused[_i].words[i]);
	ck_assert_msg(error[strlen(error) - 1] != '.' && strchr(error, '\n') == NULL,
	    "one clause, please: %s", error);
}
END_TEST

START_TEST(there_are_limits_to_what_an_agent_has)
{
	struct packet text = { 0 };
	const char *path = "", *error = "";
	char line[32];
	unsigned i;

	packet_append(&text, "model: m:x\ntools: [a", 20);
	for (i = 0; i < AGENT_TOOLS_MAX; i++)
		packet_append(&text, line, (size_t)sprintf(line, ", t%u", i));
	packet_append(&text, "]\n", 3);
	ck_assert_ptr_null(
	    spec_load(arena, sample_source(arena, text.data), "x", &path, &error));
	ck_assert_str_eq(path, "/tools");
	packet_release(&text);
	ck_assert_ptr_null(spec_load(arena,
	    value_map(arena, "model", value_str(arena, "m:x"), "system_prompt",
		value_strn(arena, arena_alloc(arena, SPEC_BYTES_MAX), SPEC_BYTES_MAX),
		NULL),
	    "x", &path, &error));
	ck_assert_ptr_nonnull(strstr(error, "1048576 bytes"));
	ck_assert_ptr_null(
	    spec_load(arena, sample_source(arena, "model: m:x"), NULL, &path, &error));
	ck_assert_ptr_nonnull(strstr(error, "needs a name"));
}
END_TEST

/* --- what is loaded ----------------------------------------------------------------- */

START_TEST(the_smallest_agent_has_defaults)
{
	const struct spec *spec = load("model: openai:gpt-4o:2024");

	ck_assert_str_eq(spec->name, "test");
	ck_assert(!spec->names_messages);
	ck_assert_str_eq(spec->model, "openai:gpt-4o:2024");
	ck_assert_str_eq(spec->provider, "openai");
	ck_assert_ptr_null(spec->system_prompt);
	ck_assert_ptr_null(spec->response_format);
	ck_assert_ptr_null(spec->script);
	ck_assert_ptr_null(spec->context_schema);
	ck_assert_uint_eq(spec->use_count, 0);
	ck_assert_uint_eq(spec->field_count, 0);
	ck_assert_uint_eq(spec->tools->size, 0);
	ck_assert_uint_eq(spec->reads->size, 0);
	ck_assert_uint_eq(spec->interrupt_before->size, 0);
	ck_assert_uint_eq(spec->interrupt_after->size, 0);
	ck_assert_int_eq(spec->recursion_limit, 10000);
	ck_assert(!spec->raise_tool_errors);
	ck_assert(!spec->wraps_tools);
	ck_assert_value(arena, spec->model_settings, "{}");
}
END_TEST

START_TEST(an_empty_key_is_an_absent_key)
{
	const struct spec *spec = load(
	    "model: m:x\ntools:\nmiddleware:\nstate:\nsystem_prompt:\n"
	    "response_format:\ninterrupt_before:\nrecursion_limit:\nmax_concurrency:\n"
	    "description:\nname:\n");

	ck_assert_str_eq(spec->name, "test");
	ck_assert_uint_eq(spec->tools->size, 0);
	ck_assert_int_eq(spec->recursion_limit, 10000);
	ck_assert_int_eq(spec->max_concurrency, 0);
}
END_TEST

START_TEST(every_key_arrives)
{
	const struct spec *spec =
	    load("name: helper\ndescription: Helps.\nmodel: m:x\n"
		 "model_settings: {temperature: 0.5}\nsystem_prompt: Be brief.\n"
		 "tools: [add]\nmiddleware: [{model_retry: {max_retries: 5}}]\n"
		 "context: {type: object}\ntool_errors: raise\nrecursion_limit: 7\n"
		 "max_concurrency: 3\n"
		 "interrupt_before: [tools]\ninterrupt_after: model\n"
		 "script: {x: [{content: hi}, {http_error: 500, retry_after: 1}]}\n");

	ck_assert_str_eq(spec->name, "helper");
	ck_assert(spec->names_messages);
	ck_assert_str_eq(spec->description, "Helps.");
	ck_assert_str_eq(spec->system_prompt, "Be brief.");
	ck_assert_value(arena, spec->model_settings, "{'temperature': 0.5}");
	ck_assert_value(arena, spec->tools, "['add']");
	ck_assert_uint_eq(spec->use_count, 1);
	ck_assert_int_eq(value_get_int(spec->uses[0]->settings, "max_retries", 0), 5);
	ck_assert_value(arena, spec->context_schema, "{'type': 'object'}");
	ck_assert(spec->raise_tool_errors);
	ck_assert_int_eq(spec->recursion_limit, 7);
	ck_assert_int_eq(spec->max_concurrency, 3);
	ck_assert_value(arena, spec->interrupt_before, "['tools']");
	ck_assert_value(arena, spec->interrupt_after, "['model']");
	ck_assert_uint_eq(value_size(value_get(spec->script, "x")), 2);
}
END_TEST

START_TEST(a_star_pauses_at_every_node)
{
	const struct spec *spec =
	    load("model: m:x\ntools: [add]\nmiddleware: [todo_list]\n"
		 "interrupt_before: '*'");

	ck_assert_value(
	    arena, spec->interrupt_before, "['model', 'todo_list.after_model', 'tools']");
}
END_TEST

START_TEST(the_version_is_the_sha1_of_the_packed_source)
{
	/* The bytes 81 a5 "model" a3 "m:x", hashed by sha1sum. */
	ck_assert_str_eq(
	    load("model: m:x")->version, "cc61c520d7d160c63e0dfef1b494052ea8ec8cbf");
	ck_assert_str_ne(load("model: m:x")->version, load("model: m:y")->version);
	ck_assert_str_eq(
	    load("{model: 'm:x'}")->version, load("model: \"m:x\"")->version);
}
END_TEST

START_TEST(a_spec_outlives_the_arena_of_its_source)
{
	struct arena *other = arena_new();
	const char *path, *error;
	const struct value *source = value_copy(
	    other, sample_source(arena, "model: m:x\nname: n\ntools: [a, {name: b}]\n"
					"state: {f: {type: array, default: [1]}}\n"));
	const struct spec *spec = spec_load(arena, source, "x", &path, &error);

	arena_destroy(&other);
	ck_assert_str_eq(spec->name, "n");
	ck_assert_str_eq(spec->model, "m:x");
	ck_assert_str_eq(spec->fields[0].name, "f");
	ck_assert_str_eq(spec->fields[0].otherwise, "[1]");
	ck_assert(value_text_is(value_get(spec->tools->items[1], "name"), "b"));
	ck_assert_str_eq(value_get_text(spec->source, "name"), "n");
}
END_TEST

START_TEST(fields_are_those_of_middleware_then_state_and_later_ones_win)
{
	const struct spec *spec = load("model: m:x\nmiddleware: [todo_list]\n"
				       "state:\n"
				       "  own: {type: integer, reducer: add, default: 2,"
				       " untracked: true, ephemeral: true}\n"
				       "  todos: {type: array, reducer: append}\n"
				       "  secret: {private: true}\n"
				       "  hint: {omit_from_output: true}\n");
	const struct field *fields = spec->fields;

	ck_assert_uint_eq(spec->field_count, 4);
	ck_assert_str_eq(fields[0].name, "todos");
	ck_assert_int_eq(fields[0].reducer, REDUCE_APPEND);
	ck_assert(!fields[0].omit_from_input);
	ck_assert_str_eq(fields[1].name, "own");
	ck_assert_str_eq(fields[1].type, "integer");
	ck_assert_int_eq(fields[1].reducer, REDUCE_ADD);
	ck_assert_str_eq(fields[1].otherwise, "2");
	ck_assert(fields[1].untracked && fields[1].ephemeral);
	ck_assert_ptr_null(fields[2].type);
	ck_assert(fields[2].omit_from_input && fields[2].omit_from_output);
	ck_assert(!fields[3].omit_from_input && fields[3].omit_from_output);
}
END_TEST

/* --- response_format ---------------------------------------------------------------- */

START_TEST(the_response_format_has_one_form)
{
	const struct spec *spec =
	    load("model: m:x\nresponse_format: {schema: {title: A, type: object}}\n");

	ck_assert_value(arena, spec->response_format,
	    "{'strategy': 'auto', 'schemas': [{'title': 'A', 'type': 'object'}],"
	    " 'handle_errors': true}");
	ck_assert(spec_is_output_tool(spec, "A"));
	ck_assert(!spec_is_output_tool(spec, "B"));
	ck_assert(!spec_is_output_tool(spec, NULL));
	spec = load("model: m:x\nresponse_format: {strategy: tool, handle_errors: false,"
		    " tool_message_content: ok, schemas: [{title: A}, {title: B}]}\n");
	ck_assert_value(arena, spec->response_format,
	    "{'strategy': 'tool', 'schemas': [{'title': 'A'}, {'title': 'B'}],"
	    " 'handle_errors': false, 'tool_message_content': 'ok'}");
	ck_assert(spec_is_output_tool(spec, "B"));
}
END_TEST

START_TEST(a_bare_schema_stands_for_auto)
{
	const struct spec *spec =
	    load("model: m:x\nresponse_format: {title: A, type: object}\n");

	ck_assert_value(arena, spec->response_format,
	    "{'strategy': 'auto', 'schemas': [{'title': 'A', 'type': 'object'}],"
	    " 'handle_errors': true}");
	spec = load("model: m:x\nresponse_format: {oneOf: [{title: A}, {title: B}]}\n");
	ck_assert(spec_is_output_tool(spec, "A") && spec_is_output_tool(spec, "B"));
}
END_TEST

START_TEST(the_model_profile_travels_with_the_model)
{
	const struct spec *spec =
	    load("model: m:x\nmodel_profile: {structured_output: true}\n");

	ck_assert_value(arena,
	    value_get(spec_model_profile(arena, spec, NULL), "model_profile"),
	    "{'structured_output': true}");
}
END_TEST

START_TEST(one_of_at_the_top_is_a_union)
{
	const struct spec *spec = load("model: m:x\nresponse_format: {strategy: tool,"
				       " schema: {oneOf: [{title: A}, {title: B}]}}\n");

	ck_assert(spec_is_output_tool(spec, "A"));
	ck_assert(spec_is_output_tool(spec, "B"));
}
END_TEST

START_TEST(a_schema_without_title_gets_one_of_its_own)
{
	const char *text = "model: m:x\nresponse_format: {schemas: [{type: object},"
			   " {type: object, properties: {a: {type: integer}}}]}\n";
	const struct value *schemas = value_get(load(text)->response_format, "schemas");
	const struct value *again = value_get(load(text)->response_format, "schemas");
	const char *one = value_get_text(schemas->items[0], "title");
	const char *other = value_get_text(schemas->items[1], "title");

	ck_assert_uint_eq(strlen(one), strlen("response_format_0000"));
	ck_assert_int_eq(strncmp(one, "response_format_", 16), 0);
	ck_assert_str_ne(one, other);
	ck_assert(value_equal(schemas, again));
}
END_TEST

START_TEST(the_provider_strategy_has_no_output_tools)
{
	const struct spec *spec = load("model: m:x\ntools: [A]\nresponse_format:"
				       " {strategy: provider, schema: {title: A}}\n");

	ck_assert(!spec_has_output_tools(spec));
	ck_assert(!spec_is_output_tool(spec, "A"));
}
END_TEST

TCase *tcase_spec(void);
TCase *
tcase_spec(void)
{
	TCase *tcase = tcase_create("spec");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_loop_test(tcase, a_wrong_spec_is_refused_with_place_and_reason, 0,
	    sizeof refused / sizeof refused[0]);
	tcase_add_test(tcase, there_are_limits_to_what_an_agent_has);
	tcase_add_test(tcase, the_smallest_agent_has_defaults);
	tcase_add_test(tcase, an_empty_key_is_an_absent_key);
	tcase_add_test(tcase, every_key_arrives);
	tcase_add_test(tcase, a_star_pauses_at_every_node);
	tcase_add_test(tcase, the_version_is_the_sha1_of_the_packed_source);
	tcase_add_test(tcase, a_spec_outlives_the_arena_of_its_source);
	tcase_add_test(
	    tcase, fields_are_those_of_middleware_then_state_and_later_ones_win);
	tcase_add_test(tcase, the_response_format_has_one_form);
	tcase_add_test(tcase, a_bare_schema_stands_for_auto);
	tcase_add_test(tcase, the_model_profile_travels_with_the_model);
	tcase_add_test(tcase, one_of_at_the_top_is_a_union);
	tcase_add_test(tcase, a_schema_without_title_gets_one_of_its_own);
	tcase_add_test(tcase, the_provider_strategy_has_no_output_tools);
	return tcase;
}
