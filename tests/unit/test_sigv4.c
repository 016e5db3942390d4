/* Signatures as AWS makes them: examples of its documentation, and what botocore 1.43 signs. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/sigv4.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define NOON 1440938160 /* 2015-08-30 12:36:00 UTC */
#define CREDENTIAL(region, service)                                                      \
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/" region        \
	"/" service "/aws4_request, SignedHeaders="

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

static const struct {
	const char *method, *host, *path, *type, *body, *region, *service, *session,
	    *authorization;
} rows[] = {
	/* "get-vanilla" of AWS's test suite */
	{ "GET", "example.amazonaws.com", "/", NULL, "", "us-east-1", "service", NULL,
	    CREDENTIAL("us-east-1",
		"service") "host;x-amz-date, "
			   "Signature="
			   "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fb"
			   "f31" },
	{ "POST", "bedrock-runtime.us-east-1.amazonaws.com",
	    "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse",
	    "application/json", "{\"messages\":[]}", "us-east-1", "bedrock", NULL,
	    CREDENTIAL("us-east-1",
		"bedrock") "content-type;host;x-amz-date, "
			   "Signature="
			   "dba7f2f77cc33808be655f27b8ebf1d1b1d77751fc96dad0bd71e020cb07c"
			   "442" },
	{ "POST", "127.0.0.1:8080",
	    "/gate/model/"
	    "arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-"
	    "profile%2Fabc/converse-stream",
	    "application/json", "{\"messages\":[{\"role\":\"user\"}]}", "eu-west-1",
	    "bedrock", "TOKEN/with+chars==",
	    CREDENTIAL("eu-west-1",
		"bedrock") "content-type;host;x-amz-date;x-amz-security-token, "
			   "Signature="
			   "48a59abb159694e15a5511a940c792143abe332787f65f574f7905d3d3655"
			   "6b2" },
};

START_TEST(a_request_is_signed_as_aws_does)
{
	const struct sigv4_keys keys = {
		.id = "AKIDEXAMPLE", .secret = SECRET, .session = rows[_i].session
	};
	const struct sigv4_request request = {
		.method = rows[_i].method,
		.host = rows[_i].host,
		.path = rows[_i].path,
		.content_type = rows[_i].type,
		.body = rows[_i].body,
		.body_size = strlen(rows[_i].body),
		.region = rows[_i].region,
		.service = rows[_i].service,
		.now = NOON,
	};
	struct sigv4 lines;

	sigv4_sign(arena, &keys, &request, &lines);
	ck_assert_str_eq(lines.authorization, rows[_i].authorization);
	ck_assert_str_eq(lines.date, "X-Amz-Date: 20150830T123600Z");
	if (rows[_i].session == NULL)
		ck_assert_ptr_null(lines.token);
	else
		ck_assert_str_eq(lines.token, "X-Amz-Security-Token: TOKEN/with+chars==");
}
END_TEST

/* The example of "how to derive a signing key". */
START_TEST(the_key_is_of_the_day_the_region_and_the_service)
{
	static const uint8_t known[] = { 0xc4, 0xaf, 0xb1, 0xcc, 0x57, 0x71, 0xd8, 0x71,
		0x76, 0x3a, 0x39, 0x3e, 0x44, 0xb7, 0x03, 0x57, 0x1b, 0x55, 0xcc, 0x28,
		0x42, 0x4d, 0x1a, 0x5e, 0x86, 0xda, 0x6e, 0xd3, 0xc1, 0x54, 0xa4, 0xb9 };
	uint8_t key[SIGV4_HASH_BYTES];

	sigv4_key(SECRET, "20150830", "us-east-1", "iam", key);
	ck_assert_mem_eq(key, known, sizeof known);
}
END_TEST

START_TEST(a_piece_of_a_path_is_escaped)
{
	ck_assert_str_eq(
	    sigv4_escaped(arena, "aZ0-._~:/ %\xc3\xa9"), "aZ0-._~%3A%2F%20%25%C3%A9");
}
END_TEST

TCase *tcase_sigv4(void);

TCase *
tcase_sigv4(void)
{
	TCase *tcase = tcase_create("sigv4");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_request_is_signed_as_aws_does, 0,
	    (int)(sizeof rows / sizeof rows[0]));
	tcase_add_test(tcase, the_key_is_of_the_day_the_region_and_the_service);
	tcase_add_test(tcase, a_piece_of_a_path_is_escaped);
	return tcase;
}
