#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/provider_table.h"
#include "../../worker-model/azure.h"
#include "../../worker-model/openai_request.h"
#include "page.h"
#include "providers.h"

static struct arena *arena;
static struct provider_table table;
static const struct endpoint defaults = { .idle_timeout_ms = 7 };

static void
setup(void)
{
	arena = arena_new();
	setenv("WM_TEST_KEY", "secret", 1);
	unsetenv("WM_TEST_NO_KEY");
	unsetenv("ANTHROPIC_BASE_URL");
	for (size_t i = 0; i < known_provider_count; i++)
		unsetenv(known_providers[i].key_variable);
	unsetenv("AZURE_OPENAI_ENDPOINT");
	unsetenv("AZURE_OPENAI_AD_TOKEN");
	unsetenv("OPENAI_API_VERSION");
	for (size_t i = 0; known_secrets[i] != NULL; i++)
		unsetenv(known_secrets[i]);
	unsetenv(BEDROCK_URL_VARIABLE);
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
}

static void
teardown(void)
{
	provider_table_release(&table);
	arena_destroy(&arena);
}

static int
make(const char *key, const char *url, const char *const *given)
{
	const char *source, *item;

	setenv("OPENAI_API_KEY", key == NULL ? "" : key, 1);
	setenv("OPENAI_BASE_URL", url == NULL ? "" : url, 1);
	return provider_table_init(&table, &defaults, given, &source, &item);
}

static const struct endpoint *
found(const char *name)
{
	const char *model = NULL;
	struct fault *fault = NULL;

	return provider_table_find(&table, arena, name, &model, &fault);
}

START_TEST(only_scripted_is_always_there)
{
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	ck_assert_uint_eq(table.count, 1);
	ck_assert_ptr_eq(found("scripted:main")->provider, &provider_scripted);
	provider_table_release(&table);
	ck_assert_int_eq(make("", "", NULL), 0);
	ck_assert_uint_eq(table.count, 1);
}
END_TEST

START_TEST(a_key_or_a_url_sets_up_openai)
{
	const struct endpoint *openai;

	ck_assert_int_eq(make("k", NULL, NULL), 0);
	openai = found("openai:gpt-4o");
	ck_assert_str_eq(openai->url, "https://api.openai.com/v1/chat/completions");
	ck_assert_str_eq(openai->key, "k");
	ck_assert_uint_eq(openai->idle_timeout_ms, 7);
	provider_table_release(&table);
	/* As it comes out of a file. */
	ck_assert_int_eq(make("k\r\n", NULL, NULL), 0);
	ck_assert_str_eq(found("openai:gpt-4o")->key, "k");
	provider_table_release(&table);
	ck_assert_int_eq(make(NULL, "http://127.0.0.1:80/v1//", NULL), 0);
	openai = found("openai:gpt-4o");
	ck_assert_str_eq(openai->url, "http://127.0.0.1:80/v1/chat/completions");
	ck_assert_ptr_null(openai->key);
}
END_TEST

static const char *const one_item[] = { "a=http://a/v1,WM_TEST_KEY", "b=http://b",
	"c=https://c/x=y,WM_TEST_NO_KEY", NULL };
static const char *const split[] = { "a=http://a/v1", "WM_TEST_KEY", "b=http://b",
	"c=https://c/x=y", "WM_TEST_NO_KEY", NULL };
static const char *const *const lists[] = { one_item, split };

START_TEST(others_are_named_with_url_and_key)
{
	ck_assert_int_eq(make(NULL, NULL, lists[_i]), 0);
	ck_assert_uint_eq(table.count, 4);
	ck_assert_str_eq(found("a:m")->url, "http://a/v1/chat/completions");
	ck_assert_str_eq(found("a:m")->key, "secret");
	ck_assert_ptr_null(found("b:m")->key);
	ck_assert_str_eq(found("c:m")->url, "https://c/x=y/chat/completions");
	ck_assert_ptr_null(found("c:m")->key);
	ck_assert_ptr_eq(found("c:m")->provider, &provider_openai);
}
END_TEST

/* OpenAI itself has both APIs; of others it is known by their URL, or asked for. */
START_TEST(who_is_asked_by_the_responses_api_says_the_url)
{
	static const char *const given[] = { "a=http://a/v1", "b=openai+http://b/v1",
		"c=responses+http://c/v1,WM_TEST_KEY", "d=anthropic+http://d", NULL };

	ck_assert_int_eq(make("k", NULL, given), 0);
	ck_assert_uint_eq(found("openai:m")->responses, RESPONSES_AS_FITS);
	ck_assert_uint_eq(found("a:m")->responses, RESPONSES_IF_ASKED);
	ck_assert_uint_eq(found("b:m")->responses, RESPONSES_IF_ASKED);
	ck_assert_uint_eq(found("c:m")->responses, RESPONSES_ALWAYS);
	ck_assert_ptr_eq(found("c:m")->provider, &provider_openai);
	ck_assert_str_eq(found("c:m")->url, "http://c/v1/chat/completions");
	ck_assert_str_eq(found("c:m")->key, "secret");
}
END_TEST

/* And what is shown of them: not what may be a key, or have one in it. */
static const char *const mistakes[][2] = {
	{ "", "..." },
	{ "sk-key", "..." },
	{ "KEY_ALONE", "..." },
	{ "=http://a", "=http://a" },
	{ "a=", "a=..." },
	{ "a=ftp://a", "a=ftp://a" },
	{ "a=ftp://a,sk-key", "a=ftp://a" },
	{ "a=ftp://me:key@a", "a=..." },
	{ "a=ftp://a?key", "a=..." },
	{ "a=sk-key", "a=..." },
	{ "a:b=http://a", "a:b=http://a" },
	{ "a b=http://a", "a b=http://a" },
	{ "scripted=http://a", "scripted=http://a" },
	{ "a,b=http://a", "a,b=http://a" },
	{ "a=mistral+http://a", "a=mistral+http://a" },
	{ "a=anthropic+a", "a=..." },
	{ "a=responses+a", "a=..." },
};

START_TEST(a_setting_that_makes_no_sense_is_named)
{
	const char *given[] = { "fine=http://fine", mistakes[_i][0], NULL };
	const char *source = "", *item;

	/* Behind another item it would be that one's key variable. */
	if (strchr(mistakes[_i][0], '=') == NULL) {
		given[0] = mistakes[_i][0];
		given[1] = NULL;
	}
	ck_assert_int_eq(
	    provider_table_init(&table, &defaults, given, &source, &item), -1);
	ck_assert_str_eq(item, mistakes[_i][1]);
	ck_assert_ptr_null(source);
}
END_TEST

static const char *const variables[] = { "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL",
	"AZURE_OPENAI_ENDPOINT", BEDROCK_URL_VARIABLE };

START_TEST(a_url_that_is_none_is_refused)
{
	const char *source, *item;

	setenv(variables[_i], "sk-key", 1);
	ck_assert_int_eq(
	    provider_table_init(&table, &defaults, NULL, &source, &item), -1);
	ck_assert_str_eq(source, variables[_i]);
	ck_assert_str_eq(item, "...");
}
END_TEST

static const struct {
	const char *base, *url;
} anthropic_urls[] = {
	{ "", "https://api.anthropic.com/v1/messages" },
	{ "http://127.0.0.1:80/", "http://127.0.0.1:80/v1/messages" },
	{ "https://gate.example/anthropic/v1",
	    "https://gate.example/anthropic/v1/messages" },
};

START_TEST(a_key_sets_up_anthropic)
{
	const struct endpoint *anthropic;

	setenv("ANTHROPIC_API_KEY", "k", 1);
	setenv("ANTHROPIC_BASE_URL", anthropic_urls[_i].base, 1);
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	ck_assert_uint_eq(table.count, 2);
	anthropic = found("anthropic:claude-x");
	ck_assert_ptr_eq(anthropic->provider, &provider_anthropic);
	ck_assert_str_eq(anthropic->url, anthropic_urls[_i].url);
	ck_assert_str_eq(anthropic->key, "k");
}
END_TEST

START_TEST(a_given_one_says_what_it_speaks)
{
	static const char *const given[] = { "a=anthropic+http://a,WM_TEST_KEY",
		"o=openai+http://o", "p=http://p", NULL };

	ck_assert_int_eq(make(NULL, NULL, given), 0);
	ck_assert_ptr_eq(found("a:x")->provider, &provider_anthropic);
	ck_assert_str_eq(found("a:x")->url, "http://a/v1/messages");
	ck_assert_str_eq(found("a:x")->key, "secret");
	ck_assert_ptr_eq(found("o:x")->provider, &provider_openai);
	ck_assert_str_eq(found("o:x")->url, "http://o/chat/completions");
	ck_assert_ptr_eq(found("p:x")->provider, &provider_openai);
}
END_TEST

START_TEST(a_key_sets_up_who_is_known)
{
	const struct endpoint *groq;

	setenv("GROQ_API_KEY", "k\n", 1);
	setenv("XAI_API_KEY", "", 1);
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	ck_assert_uint_eq(table.count, 2);
	groq = found("groq:llama");
	ck_assert_ptr_eq(groq->provider, &provider_openai);
	ck_assert_str_eq(groq->url, "https://api.groq.com/openai/v1/chat/completions");
	ck_assert_str_eq(groq->key, "k");
	ck_assert_uint_eq(groq->responses, RESPONSES_IF_ASKED);
	ck_assert_uint_eq(groq->idle_timeout_ms, 7);
	ck_assert_str_eq(provider_kind("groq"), "openai");
	ck_assert_str_eq(provider_kind("anthropic"), "anthropic");
	ck_assert_ptr_null(provider_kind("gateway"));
}
END_TEST

#define RESOURCE "https://r.openai.azure.com"
static const struct {
	const char *given, *version, *path, *url;
} azure_urls[] = {
	{ RESOURCE "/", "2024-10-21", "/chat/completions",
	    RESOURCE "/openai/deployments/my%2Fd%20%3A/chat/completions"
		     "?api-version=2024-10-21" },
	{ RESOURCE, "preview&a", "/responses",
	    RESOURCE "/openai/responses?api-version=preview%26a" },
	{ RESOURCE "//", "", "/chat/completions",
	    RESOURCE "/openai/v1/chat/completions" },
	{ RESOURCE "/openai/v1/", "2024-10-21", "/responses",
	    RESOURCE "/openai/v1/responses" },
};

START_TEST(a_resource_sets_up_azure)
{
	const struct endpoint *azure;

	setenv("AZURE_OPENAI_API_KEY", "k", 1);
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	ck_assert_uint_eq(table.count, 1); /* where to? */
	provider_table_release(&table);
	setenv("AZURE_OPENAI_ENDPOINT", azure_urls[_i].given, 1);
	setenv("OPENAI_API_VERSION", azure_urls[_i].version, 1);
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	azure = found("azure_openai:d");
	ck_assert_ptr_eq(azure->provider, &provider_azure);
	ck_assert_str_eq(
	    azure_url(arena, azure, "my/d :", azure_urls[_i].path), azure_urls[_i].url);
	ck_assert_str_eq(azure->key, "k");
	ck_assert_str_eq(azure->key_header, "api-key");
	provider_table_release(&table);
	setenv("AZURE_OPENAI_AD_TOKEN", "t\n", 1);
	ck_assert_int_eq(make(NULL, NULL, NULL), 0);
	ck_assert_str_eq(found("azure_openai:d")->key, "t");
	ck_assert_ptr_null(found("azure_openai:d")->key_header);
}
END_TEST

START_TEST(a_deployment_is_no_resource)
{
	const char *source, *item;

	setenv("AZURE_OPENAI_ENDPOINT", RESOURCE "/openai/deployments/d", 1);
	ck_assert_int_eq(
	    provider_table_init(&table, &defaults, NULL, &source, &item), -1);
	ck_assert_str_eq(source, "AZURE_OPENAI_ENDPOINT");
}
END_TEST

START_TEST(old_versions_of_azure_count_no_streams)
{
	struct endpoint endpoint = { .api_version = "2024-06-01" };

	ck_assert(!value_get_bool(
	    azure_settings(arena, &endpoint, NULL), "stream_usage", true));
	endpoint.api_version = "2024-09-01-preview";
	ck_assert_ptr_null(azure_settings(arena, &endpoint, NULL));
}
END_TEST

START_TEST(who_is_given_counts_before_who_is_known)
{
	static const char *const given[] = { "groq=http://a/v1,WM_TEST_KEY",
		"openai=http://b/v1", NULL };

	setenv("GROQ_API_KEY", "k", 1);
	ck_assert_int_eq(make("k", NULL, given), 0);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_str_eq(found("groq:m")->url, "http://a/v1/chat/completions");
	ck_assert_str_eq(found("groq:m")->key, "secret");
	ck_assert_ptr_null(found("openai:m")->key);
}
END_TEST

START_TEST(as_many_may_be_given_as_there_is_room_for)
{
	const char *many[65] = { NULL }, *source, *item;
	size_t i;

	for (i = 0; i < 63; i++)
		many[i] = arena_printf(arena, "a%zu=http://a", i);
	for (i = 0; i < known_provider_count; i++)
		setenv(known_providers[i].key_variable, "k", 1);
	setenv("AZURE_OPENAI_ENDPOINT", "https://a", 1);
	setenv("AWS_REGION", "eu-west-1", 1);
	ck_assert_int_eq(make("k", NULL, many), 0);
	ck_assert_uint_eq(table.count, 64 + known_provider_count);
	provider_table_release(&table);
	many[63] = "b=http://b";
	ck_assert_int_eq(
	    provider_table_init(&table, &defaults, many, &source, &item), -1);
	ck_assert_str_eq(item, many[63]);
}
END_TEST

/* Mistral refuses a request with what asks for them. */
START_TEST(token_counts_are_asked_of_who_tells_them)
{
	struct ask ask = { .arena = arena, .provider = "groq", .model = "m" };
	const char *error;

	ck_assert(value_has(openai_request(&ask, true, &error), "stream_options"));
	ask.provider = "mistralai";
	ck_assert(!value_has(openai_request(&ask, true, &error), "stream_options"));
	ask.settings = value_map(arena, "stream_usage", value_bool(true), NULL);
	ck_assert(value_has(openai_request(&ask, true, &error), "stream_options"));
}
END_TEST

START_TEST(the_page_has_who_is_known)
{
	const char *rows = "| provider | key | base URL |\n| --- | --- | --- |\n";
	const char *compose = page_read(arena, "docker-compose.yml"), *key;
	size_t i;

	for (i = 0; i < known_provider_count; i++) {
		key = arena_printf(arena, "      %s:\n", known_providers[i].key_variable);
		ck_assert_msg(strstr(compose, key) != NULL, "compose has no %s", key);
		rows = arena_printf(arena, "%s| `%s` | `%s` | %s |\n", rows,
		    known_providers[i].name, known_providers[i].key_variable,
		    strcmp(known_providers[i].name, "bedrock_converse") == 0
			? "[of a region](#bedrock)"
		    : known_providers[i].url == NULL
			? "[your own](#azure)"
			: arena_printf(arena, "`%s`", known_providers[i].url));
	}
	page_check_table(arena, "docs/models.md",
	    "They are called as LangChain's `init_chat_model` calls them, and so are the "
	    "variables:",
	    rows);
}
END_TEST

START_TEST(the_model_is_what_follows_the_first_colon)
{
	const char *model = NULL;
	struct fault *fault = NULL;

	ck_assert_int_eq(make("k", NULL, NULL), 0);
	ck_assert_ptr_nonnull(
	    provider_table_find(&table, arena, "openai:ft:gpt:me", &model, &fault));
	ck_assert_str_eq(model, "ft:gpt:me");
}
END_TEST

static const struct {
	const char *name, *message;
} unknown[] = {
	{ "opnai:gpt-4o", "this model worker has no provider 'opnai'; it has: scripted, "
			  "openai; did you mean 'openai'?" },
	{ "mistral:large",
	    "this model worker has no provider 'mistral'; it has: scripted, openai" },
	{ "gpt-4o", "the model 'gpt-4o' is not of the form provider:name" },
	{ "openai:", "the model 'openai:' is not of the form provider:name" },
	{ NULL, "the model '' is not of the form provider:name" },
};

START_TEST(a_provider_that_is_not_there_is_named_with_those_that_are)
{
	const char *model = NULL;
	struct fault *fault = NULL;

	ck_assert_int_eq(make("k", NULL, NULL), 0);
	ck_assert_ptr_null(
	    provider_table_find(&table, arena, unknown[_i].name, &model, &fault));
	ck_assert_str_eq(fault->type, "ValueError");
	ck_assert_str_eq(fault->message, unknown[_i].message);
	ck_assert(!fault->retryable);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_provider_table(void);

TCase *
tcase_provider_table(void)
{
	TCase *tcase = tcase_create("provider_table");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, only_scripted_is_always_there);
	tcase_add_test(tcase, a_key_or_a_url_sets_up_openai);
	tcase_add_loop_test(tcase, others_are_named_with_url_and_key, 0, COUNT(lists));
	tcase_add_test(tcase, who_is_asked_by_the_responses_api_says_the_url);
	tcase_add_loop_test(
	    tcase, a_setting_that_makes_no_sense_is_named, 0, COUNT(mistakes));
	tcase_add_loop_test(tcase, a_url_that_is_none_is_refused, 0, COUNT(variables));
	tcase_add_loop_test(tcase, a_key_sets_up_anthropic, 0,
	    sizeof anthropic_urls / sizeof anthropic_urls[0]);
	tcase_add_test(tcase, a_given_one_says_what_it_speaks);
	tcase_add_test(tcase, a_key_sets_up_who_is_known);
	tcase_add_loop_test(tcase, a_resource_sets_up_azure, 0, COUNT(azure_urls));
	tcase_add_test(tcase, a_deployment_is_no_resource);
	tcase_add_test(tcase, old_versions_of_azure_count_no_streams);
	tcase_add_test(tcase, who_is_given_counts_before_who_is_known);
	tcase_add_test(tcase, as_many_may_be_given_as_there_is_room_for);
	tcase_add_test(tcase, token_counts_are_asked_of_who_tells_them);
	tcase_add_test(tcase, the_page_has_who_is_known);
	tcase_add_test(tcase, the_model_is_what_follows_the_first_colon);
	tcase_add_loop_test(tcase,
	    a_provider_that_is_not_there_is_named_with_those_that_are, 0, COUNT(unknown));
	return tcase;
}
