/* Where Bedrock is asked, and who asks. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/bedrock.h"
#include "../../worker-model/provider_table.h"

#include "../../worker-model/provider_exchange.h"
#include "providers.h"

static struct arena *arena;
static struct provider_table table;
static const struct endpoint defaults;

static void
setup(void)
{
	arena = arena_new();
	for (size_t i = 0; i < known_provider_count; i++)
		unsetenv(known_providers[i].key_variable);
	for (size_t i = 0; known_secrets[i] != NULL; i++)
		unsetenv(known_secrets[i]);
	unsetenv("OPENAI_BASE_URL");
	unsetenv("ANTHROPIC_BASE_URL");
	unsetenv(AZURE_URL_VARIABLE);
	unsetenv(BEDROCK_URL_VARIABLE);
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	setenv("WM_TEST_KEY", "secret", 1);
}

static void
teardown(void)
{
	provider_table_release(&table);
	arena_destroy(&arena);
}

static void
make(const char *const *given)
{
	const char *source, *item;

	ck_assert_int_eq(
	    provider_table_init(&table, &defaults, given, &source, &item), 0);
}

static const struct endpoint *
found(const char *name)
{
	const char *model = NULL;
	struct fault *fault = NULL;

	return provider_table_find(&table, arena, name, &model, &fault);
}

static void
set_all(const char *const variables[][2])
{
	for (; (*variables)[0] != NULL; variables++)
		setenv((*variables)[0], (*variables)[1], 1);
}

#define ID_AND_SECRET                                                                    \
	{ "AWS_ACCESS_KEY_ID", "id" },                                                   \
	{                                                                                \
		"AWS_SECRET_ACCESS_KEY", "s\n"                                           \
	}
static const struct {
	const char *variables[6][2];
	const char *url; /* NULL: it is not there */
	const char *key, *key_id, *region, *session;
} bedrocks[] = {
	{ { ID_AND_SECRET, { "AWS_REGION", "eu-west-1" } },
	    "https://bedrock-runtime.eu-west-1.amazonaws.com", "s", "id", "eu-west-1",
	    NULL },
	{ { ID_AND_SECRET, { "AWS_DEFAULT_REGION", "cn-north-1" },
	      { "AWS_SESSION_TOKEN", "t" } },
	    "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "s", "id",
	    "cn-north-1", "t" },
	/* the token goes first, and AWS_REGION does */
	{ { ID_AND_SECRET, { "AWS_BEARER_TOKEN_BEDROCK", "b" },
	      { "AWS_REGION", "us-east-1" }, { "AWS_DEFAULT_REGION", "us-west-2" } },
	    "https://bedrock-runtime.us-east-1.amazonaws.com", "b", NULL, "us-east-1",
	    NULL },
	/* elsewhere, and what else may be missing */
	{ { { BEDROCK_URL_VARIABLE, "https://Gate.example/aws/" },
	      { "AWS_BEARER_TOKEN_BEDROCK", "b" } },
	    "https://gate.example/aws", "b", NULL, NULL, NULL },
	{ { { BEDROCK_URL_VARIABLE, "http://127.0.0.1:7" } }, "http://127.0.0.1:7", NULL,
	    NULL, NULL, NULL },
	{ { { BEDROCK_URL_VARIABLE,
		"https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com" },
	      ID_AND_SECRET, { "AWS_REGION", "eu-west-1" } },
	    "https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com", "s", "id",
	    "us-west-2", NULL },
	/* not there */
	{ { ID_AND_SECRET }, NULL, NULL, NULL, NULL, NULL },
	{ { { "AWS_REGION", "eu-west-1" } }, NULL, NULL, NULL, NULL, NULL },
	{ { ID_AND_SECRET, { "AWS_REGION", "eu/west" } }, NULL, NULL, NULL, NULL, NULL },
	{ { { "AWS_ACCESS_KEY_ID", "id" }, { "AWS_REGION", "eu-west-1" } }, NULL, NULL,
	    NULL, NULL, NULL },
};

static void
check_text(const char *text, const char *expected)
{
	if (expected == NULL)
		ck_assert_ptr_null(text);
	else
		ck_assert_str_eq(text, expected);
}

START_TEST(a_region_and_a_key_set_up_bedrock)
{
	const struct endpoint *endpoint;

	set_all(bedrocks[_i].variables);
	make(NULL);
	ck_assert_uint_eq(table.count, bedrocks[_i].url == NULL ? 1 : 2);
	if (bedrocks[_i].url == NULL)
		return;
	endpoint = found("bedrock_converse:amazon.nova-pro-v1:0");
	ck_assert_ptr_eq(endpoint->provider, &provider_bedrock);
	ck_assert_str_eq(endpoint->url, bedrocks[_i].url);
	check_text(endpoint->key, bedrocks[_i].key);
	check_text(endpoint->bedrock->key_id, bedrocks[_i].key_id);
	check_text(endpoint->bedrock->region, bedrocks[_i].region);
	check_text(endpoint->bedrock->session, bedrocks[_i].session);
}
END_TEST

/* What signs may go anywhere, a token only where it is told to. */
START_TEST(a_given_bedrock_has_the_keys_that_sign)
{
	static const char *const given[] = {
		"west=bedrock+https://bedrock-runtime.us-west-2.amazonaws.com",
		"gate=bedrock+http://gate/x", "WM_TEST_KEY", NULL
	};
	const struct endpoint *west, *gate;

	set_all(
	    (const char *const[][2]){ ID_AND_SECRET, { "AWS_BEARER_TOKEN_BEDROCK", "b" },
		{ "AWS_REGION", "eu-west-1" }, { NULL, NULL } });
	make(given);
	west = found("west:m");
	ck_assert_str_eq(west->key, "s");
	ck_assert_str_eq(west->bedrock->key_id, "id");
	ck_assert_str_eq(west->bedrock->region, "us-west-2");
	gate = found("gate:m");
	ck_assert_str_eq(gate->key, "secret");
	ck_assert_ptr_null(gate->bedrock->key_id);
	ck_assert_str_eq(bedrock_url(arena, gate, "a.b:0/c", true),
	    "http://gate/x/model/a.b%3A0%2Fc/converse-stream");
	ck_assert_str_eq(found("bedrock_converse:m")->key, "b");
}
END_TEST

START_TEST(a_token_is_sent_as_it_is)
{
	const struct bedrock bedrock = { .region = "eu-west-1" };
	const struct endpoint endpoint = {
		.url = "http://h/model/m/converse", .key = "b", .bedrock = &bedrock
	};
	const struct ask ask = { .arena = arena };
	const char *headers[DIALECT_HEADERS_MAX];

	ck_assert_uint_eq(
	    bedrock_headers(&endpoint, &ask, &(struct packet){ 0 }, headers), 1);
	ck_assert_str_eq(headers[0], "Authorization: Bearer b");
}
END_TEST

static const char *const hosts[][2] = {
	{ "https://h:443/model/m/converse", "h" },
	{ "http://h:443/model/m/converse", "h:443" },
	{ "http://h:80", "h" },
	{ "https://h:80/x", "h:80" },
	{ "http://[::1]:8080/x", "[::1]:8080" },
};

START_TEST(a_host_is_said_as_libcurl_says_it)
{
	ck_assert_str_eq(bedrock_host(arena, hosts[_i][0]), hosts[_i][1]);
}
END_TEST

START_TEST(a_model_is_no_endpoint)
{
	static const char *const urls[] = { "https://h/model/m/converse", "https://u:p@h",
		"https://h?x" };
	const char *source, *item;

	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		setenv(BEDROCK_URL_VARIABLE, urls[i], 1);
		ck_assert_int_eq(
		    provider_table_init(&table, &defaults, NULL, &source, &item), -1);
		ck_assert_str_eq(source, BEDROCK_URL_VARIABLE);
	}
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_bedrock(void);

TCase *
tcase_bedrock(void)
{
	TCase *tcase = tcase_create("bedrock");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_region_and_a_key_set_up_bedrock, 0, COUNT(bedrocks));
	tcase_add_test(tcase, a_given_bedrock_has_the_keys_that_sign);
	tcase_add_test(tcase, a_token_is_sent_as_it_is);
	tcase_add_loop_test(tcase, a_host_is_said_as_libcurl_says_it, 0, COUNT(hosts));
	tcase_add_test(tcase, a_model_is_no_endpoint);
	return tcase;
}
