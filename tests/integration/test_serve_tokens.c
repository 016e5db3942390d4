/* JSON Web Tokens as keys of `flotilla serve`: whose they are, and keys of the issuer that change. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../cli/command.h"
#include "has.h"
#include "serve_bench.h"
#include "tiny_http.h"
#include "token_signer.h"

TCase *tcase_serve_tokens(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define ISSUER "https://id.example.com/"
#define RULES "--jwt-issuer", ISSUER, "--jwt-audience", "fleet"

static struct fleet_up *const fleet = &serve_bench.fleet;
static struct token_signer *signer, *successor;

static void
open_all(void)
{
	serve_open();
	signer = token_signer_new("EC", 0);
	successor = token_signer_new("EC", 0);
}

static void
close_all(void)
{
	token_signer_destroy(&signer);
	token_signer_destroy(&successor);
	serve_close();
}

static const char *
set_of(const struct token_signer *of, const char *id)
{
	return arena_printf(fleet->arena, "{\"keys\": [%s]}",
	    token_signer_jwk(fleet->arena, of, serve_text(", 'kid': '%s'", id)));
}

/* A header with a token that ends in seconds from now. */
static const char *
token_by(const struct token_signer *of, const char *id, const char *user, int seconds)
{
	return arena_printf(fleet->arena, "Authorization: Bearer %s",
	    token_signer_sign(fleet->arena, of,
		serve_text("{'alg': 'ES256', 'kid': '%s'}", id),
		serve_text("{'iss': '" ISSUER "', 'aud': 'fleet', 'exp': %lld, 'sub': "
			   "'%s'}",
		    (long long)time(NULL) + seconds, user),
		false));
}

static const char *
written(const char *name, const char *text)
{
	fleet_up_write(fleet, name, text);
	return arena_printf(fleet->arena, "%s/%s", fleet->folder, name);
}

static const char *
start(struct cli_job **server_r, const char *where)
{
	return serve_start(
	    server_r, (const char *const[]){ "--jwt-keys", where, RULES, NULL });
}

START_TEST(whoever_is_signed_in_sees_what_is_his)
{
	struct cli_job *server;
	const char *url = start(&server, written("issuer.json", set_of(signer, "a")));
	const char *ann = token_by(signer, "a", "ann", 3600);
	const char *bob = token_by(signer, "a", "auth0|bob", 3600);
	struct serve_answer answer = ASK(.url = url, .path = "/threads",
	    .body = "{'thread_id': 'mine'}", .headers = { ann });

	ck_assert_str_eq(value_get_text(answer.json, "thread_id"), "ann~mine");
	answer = ASK(.url = url, .path = "/threads/mine/runs/wait",
	    .body = "{'assistant_id': 'quick', " HI "}", .headers = { ann });
	ck_assert_int_eq(answer.status, 200);
	ck_assert_int_eq(
	    ASK(.url = url, .path = "/threads/mine/state", .headers = { ann }).status,
	    200);
	ck_assert_int_eq(
	    ASK(.url = url, .path = "/threads/ann~mine/state", .headers = { bob }).status,
	    404);
	answer = ASK(.url = url, .path = "/threads", .body = "{'thread_id': 'mine'}",
	    .headers = { bob });
	ck_assert_int_eq(strncmp(value_get_text(answer.json, "thread_id"), "h-", 2), 0);
	serve_stop(&server);
}
END_TEST

START_TEST(who_is_not_signed_in_is_told_so)
{
	struct cli_job *server;
	const char *url = start(&server, written("issuer.json", set_of(signer, "a")));
	struct serve_answer answer = ASK(.url = url, .path = "/info");

	ck_assert_int_eq(answer.status, 401);
	ck_assert_str_eq(serve_header(&answer, "WWW-Authenticate"), "Bearer");
	answer = ASK(.url = url, .path = "/info",
	    .headers = { token_by(signer, "a", "ann", -61) });
	ck_assert_int_eq(answer.status, 401);
	ck_assert_str_eq(
	    serve_header(&answer, "WWW-Authenticate"), "Bearer error=\"invalid_token\"");
	ck_assert_has(answer.body, "the token has expired");
	answer = ASK(.url = url, .path = "/info",
	    .headers = { token_by(successor, "a", "ann", 3600) });
	ck_assert_int_eq(answer.status, 401);
	ck_assert_has(answer.body, "signature is wrong");
	ck_assert_int_eq(ASK(.url = url, .path = "/info",
			     .headers = { "Authorization: Bearer 0123456789abcdef" })
			     .status,
	    401);
	ck_assert_int_eq(ASK(.url = url, .path = "/ok").status, 200);
	serve_stop(&server);
}
END_TEST

static bool
is_taken(const char *url, const char *token)
{
	return ASK(.url = url, .path = "/info", .headers = { token }).status == 200;
}

static void
wait_taken(const char *url, const char *token)
{
	unsigned looks = 0;

	while (!is_taken(url, token) && looks++ < SERVE_LOOKS)
		serve_pause();
	ck_assert(is_taken(url, token));
}

/* As `mv` does, so that nobody reads half of it. */
static void
replace(const char *path, const char *text)
{
	ck_assert_int_eq(rename(written("new.json", text), path), 0);
}

START_TEST(another_file_has_other_keys)
{
	const char *path = written("issuer.json", set_of(signer, "a"));
	const char *old = token_by(signer, "a", "ann", 3600);
	const char *new = token_by(successor, "b", "ann", 3600);
	struct cli_job *server;
	const char *url = start(&server, path);
	unsigned looks = 0;

	ck_assert(is_taken(url, old));
	ck_assert(!is_taken(url, new));
	/* What cannot be read changes nothing. */
	replace(path, "{");
	while (strstr(cli_err(server), "the keys stay as they were") == NULL &&
	       looks++ < SERVE_LOOKS)
		serve_pause();
	ck_assert_has(cli_err(server), "the keys stay as they were");
	ck_assert(is_taken(url, old));
	replace(path, set_of(successor, "b"));
	wait_taken(url, new);
	ck_assert(!is_taken(url, old));
	serve_stop(&server);
}
END_TEST

static void
answer_with(struct tiny_http *issuer, const char *set)
{
	tiny_http_add(
	    issuer, &(struct tiny_answer){
			.bytes = arena_printf(fleet->arena,
			    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Content-Length: %zu\r\n\r\n%s",
			    strlen(set), set),
			.end = TINY_CLOSE });
}

START_TEST(a_url_is_asked)
{
	struct tiny_http *issuer = tiny_http_new();
	struct cli_job *server;
	const char *url;

	answer_with(issuer, set_of(signer, "a"));
	url = start(&server, serve_text("http://127.0.0.1:%u/jwks.json",
				 (unsigned)tiny_http_port(issuer)));
	ck_assert(is_taken(url, token_by(signer, "a", "ann", 3600)));
	ck_assert_uint_eq(tiny_http_requests(issuer), 1);
	serve_stop(&server);
	tiny_http_destroy(&issuer);
}
END_TEST

/* Both may be asked for: a program with a key, people with tokens. */
START_TEST(keys_count_beside_tokens)
{
	const char *keys = written("serve.keys", "0123456789abcdef-acme acme\n");
	const char *set = written("issuer.json", set_of(signer, "a"));
	struct cli_job *server;
	const char *url;

	ck_assert_int_eq(chmod(keys, 0600), 0);
	url = serve_start(&server,
	    (const char *const[]){ "--api-keys", keys, "--jwt-keys", set, RULES, NULL });
	ck_assert(is_taken(url, "X-Api-Key: 0123456789abcdef-acme"));
	ck_assert(is_taken(url, token_by(signer, "a", "ann", 3600)));
	serve_stop(&server);
}
END_TEST

static const struct {
	const char *flags[8];
	int status;
	const char *words;
} wrong[] = {
	{ { "--jwt-keys", "issuer.json" }, STATUS_USAGE, "go together" },
	{ { "--jwt-issuer", "x" }, STATUS_USAGE, "go together" },
	{ { "--jwt-keys", "nowhere.json", RULES }, STATUS_FAILED,
	    "--jwt-keys nowhere.json: No such file" },
	{ { "--jwt-keys", "agents.yaml", RULES }, STATUS_FAILED, "--jwt-keys" },
	{ { "--jwt-keys", "http://id.example.com/keys", RULES }, STATUS_FAILED,
	    "by https://" },
	{ { "--jwt-keys", "https://a:b@id.example.com/keys", RULES }, STATUS_FAILED,
	    "no password" },
	{ { "--jwt-keys", "http://127.0.0.1:1/keys", RULES }, STATUS_FAILED,
	    "--jwt-keys" },
	{ { "--jwt-keys", "http://127.0.0.1:1/keys?code=1234", RULES }, STATUS_FAILED,
	    "--jwt-keys ...: " },
	{ { "--jwt-keys", "/", RULES }, STATUS_FAILED, "--jwt-keys /: Is a directory" },
};

START_TEST(what_it_cannot_start_with_is_said)
{
	const char *argv[10] = { "serve" };
	struct said said;

	memcpy(argv + 1, wrong[_i].flags, sizeof wrong[_i].flags);
	said = cli_run(&fleet->flotilla, NULL, argv);
	ck_assert_msg(said.status == wrong[_i].status, "%d: %s", said.status, said.err);
	ck_assert_has(said.err, wrong[_i].words);
	ck_assert_str_eq(said.out, "");
}
END_TEST

TCase *
tcase_serve_tokens(void)
{
	TCase *tcase = tcase_create("serve_tokens");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, open_all, close_all);
	tcase_add_test(tcase, whoever_is_signed_in_sees_what_is_his);
	tcase_add_test(tcase, who_is_not_signed_in_is_told_so);
	tcase_add_test(tcase, another_file_has_other_keys);
	tcase_add_test(tcase, a_url_is_asked);
	tcase_add_test(tcase, keys_count_beside_tokens);
	tcase_add_loop_test(tcase, what_it_cannot_start_with_is_said, 0, COUNT(wrong));
	return tcase;
}
