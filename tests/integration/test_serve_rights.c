/* Who may ask `flotilla serve`: keys, pages of other sites, names that are not ours; and with which flags it starts. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "../../cli/command.h"
#include "has.h"
#include "serve_bench.h"

TCase *tcase_serve_rights(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define KEY "0123456789abcdef-acme"
#define OTHER_KEY "0123456789abcdef-other"
#define PLAIN_KEY "fedcba9876543210"
#define ORIGIN "https://app.example.com"

static struct fleet_up *const fleet = &serve_bench.fleet;

static const char *
key_file(mode_t mode)
{
	const char *path = arena_printf(fleet->arena, "%s/serve.keys", fleet->folder);

	fleet_up_write(fleet, "serve.keys",
	    "# who may ask\n" KEY " acme\n" OTHER_KEY " other\n" PLAIN_KEY "\n");
	ck_assert_int_eq(chmod(path, mode), 0);
	return path;
}

/* --- keys --------------------------------------------------------------------------------- */

static const struct {
	const char *header;
	long status;
} keys[] = {
	{ NULL, 401 },
	{ "X-Api-Key: " KEY, 200 },
	{ "x-api-key: " PLAIN_KEY, 200 },
	{ "Authorization: Bearer " KEY, 200 },
	{ "Authorization: bearer " KEY, 200 },
	{ "X-Api-Key: " KEY " ", 200 },
	{ "Authorization: Basic " KEY, 401 },
	{ "X-Api-Key: " KEY "x", 401 },
	{ "X-Api-Key: 0123456789abcdef-acmE", 401 },
	{ "X-Api-Key: 0123456789abcdef", 401 },
	{ "X-Api-Key;", 401 }, /* is empty */
	{ "X-Api-Key: acme", 401 },
};

/* Which of two counts a proxy in front, that has set one, may see in another way. */
static const char *const doubled[][2] = {
	{ "X-Api-Key: " KEY, "X-Api-Key: " PLAIN_KEY },
	{ "X-Api-Key: " KEY, "x-api-key: " KEY },
	{ "Authorization: Bearer " KEY, "Authorization: Bearer " PLAIN_KEY },
};

/* Clients add X-Api-Key by themselves. What is known counts first. */
static const struct {
	const char *first, *second;
	long status;
} both[] = {
	{ "X-Api-Key: lsv2_pt_x", "Authorization: Bearer " KEY, 200 },
	{ "X-Api-Key: lsv2_pt_x", "Authorization: Bearer " KEY "x", 401 },
	{ "X-Api-Key: lsv2_pt_x", "Authorization: Basic " KEY, 401 },
	{ "X-Api-Key: " KEY, "Authorization: Bearer x", 200 },
};

START_TEST(who_has_a_key_may_ask)
{
	struct cli_job *server;
	const char *url = serve_start(
	    &server, (const char *const[]){ "--api-keys", key_file(0600), NULL });
	struct serve_answer answer;
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		answer = ASK(.url = url, .path = "/info", .headers = { keys[i].header });
		ck_assert_msg(answer.status == keys[i].status, "%s: %ld", keys[i].header,
		    answer.status);
		ck_assert_has_not(answer.body, "0123456789");
	}
	for (i = 0; i < sizeof doubled / sizeof doubled[0]; i++) {
		answer = ASK(.url = url, .path = "/info",
		    .headers = { doubled[i][0], doubled[i][1] });
		ck_assert_msg(
		    answer.status == 400, "%s: %ld", doubled[i][1], answer.status);
	}
	for (i = 0; i < sizeof both / sizeof both[0]; i++) {
		answer = ASK(.url = url, .path = "/info",
		    .headers = { both[i].first, both[i].second });
		ck_assert_msg(answer.status == both[i].status, "%s: %ld", both[i].second,
		    answer.status);
	}
	/* What a path shows differs by key: nobody between may keep it. */
	answer = ASK(.url = url, .path = "/info", .headers = { "X-Api-Key: " KEY });
	ck_assert_str_eq(serve_header(&answer, "Cache-Control"), "no-store");
	ck_assert_int_eq(ASK(.url = url, .path = "/ok").status, 200);
	ck_assert_int_eq(ASK(.url = url, .path = "/docs").status, 200);
	/* For a look alone, without a body, which would take of the room of all. */
	ck_assert_int_eq(ASK(.url = url, .path = "/ok", .body = "{}").status, 401);
	ck_assert_int_eq(
	    ASK(.url = url, .method = "GET", .path = "/ok", .body = "{}").status, 401);
	ck_assert_int_eq(ASK(.url = url, .path = "/nowhere").status, 401);
	/* Whatever name it is called by. */
	ck_assert_int_eq(ASK(.url = url, .path = "/info",
			     .headers = { "X-Api-Key: " KEY, "Host: fleet.example.com" })
			     .status,
	    200);
	serve_stop(&server);
}
END_TEST

static const char *
tenant_of(const char *run)
{
	struct said said = CLI(&fleet->flotilla, "runs", "--json");
	const struct value *runs = fleet_up_json(fleet, said.out);
	size_t i;

	for (i = 0; i < value_size(runs); i++)
		if (value_text_is(value_get(value_at(runs, i), "run"), run))
			return value_get_text(value_at(runs, i), "tenant");
	ck_abort_msg("no run %s: %s", run, said.out);
	return NULL;
}

START_TEST(a_keys_tenant_is_its_runs)
{
	struct cli_job *server;
	const char *url = serve_start(
	    &server, (const char *const[]){ "--api-keys", key_file(0600), NULL });
	const char *const key[2] = { "X-Api-Key: " KEY, "X-Api-Key: " PLAIN_KEY };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct serve_answer answer = ASK(.url = url, .path = "/runs",
		    .body = "{'assistant_id': 'quick', 'on_completion': 'keep', 'input': "
			    "{'messages': 'Hi'}}",
		    .headers = { key[i] });

		ck_assert_int_eq(answer.status, 200);
		ck_assert_pstr_eq(tenant_of(value_get_text(answer.json, "run_id")),
		    i == 0 ? "acme" : NULL);
	}
	serve_stop(&server);
}
END_TEST

/* --- pages and names ---------------------------------------------------------------------- */

/* By what browsers say of a request that has no Origin. */
static const struct {
	const char *header;
	long status;
} sites[] = {
	{ "Sec-Fetch-Site: cross-site", 403 },
	{ "Sec-Fetch-Site: same-site", 403 },
	{ "Origin: https://evil.example.com", 403 },
	{ "Sec-Fetch-Site: same-origin", 404 },
	{ "Sec-Fetch-Site: none", 404 },
	{ NULL, 404 },
};

/* A page can have a browser send, though not read. */
START_TEST(a_page_of_another_site_changes_nothing)
{
	static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE",
		"OPTIONS" };
	struct serve_answer answer;
	size_t i;

	for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		answer = ASK(.method = methods[i], .path = "/threads",
		    .headers = { "Origin: https://evil.example.com" });
		ck_assert_msg(answer.status == 403, "%s: %ld", methods[i], answer.status);
		ck_assert_ptr_null(serve_header(&answer, "Access-Control-Allow-Origin"));
	}
	answer = ASK(.path = "/info", .headers = { "Origin: https://evil.example.com" });
	ck_assert_int_eq(answer.status, 200);
	ck_assert_ptr_null(serve_header(&answer, "Access-Control-Allow-Origin"));
	answer = ASK(.path = "/threads", .body = "{}", .headers = { "Origin: null" });
	ck_assert_int_eq(answer.status, 403);
	/* Nor by what reads: an image's address is asked for without an Origin, and can be given up. */
	for (i = 0; i < sizeof sites / sizeof sites[0]; i++) {
		answer = ASK(.path = "/threads/t/runs/r/join?cancel_on_disconnect=1",
		    .headers = { sites[i].header });
		ck_assert_msg(answer.status == sites[i].status, "%s: %ld",
		    sites[i].header, answer.status);
	}
}
END_TEST

/* Of the name that we are called by; without keys that is not to be any name. */
static const struct {
	const char *headers[4];
	long status;
} pages[] = {
	{ { "Host: localhost:8123", "Origin: http://localhost:8123" }, 200 },
	{ { "Host: 127.0.0.1:8123", "Origin: https://127.0.0.1:8123" }, 200 },
	{ { "Host: localhost:8123", "Origin: http://localhost:3000" }, 403 },
	{ { "Host: localhost:8123", "Origin: http://localhost:8123",
	      "Sec-Fetch-Site: same-site" },
	    403 },
	{ { "Host: localhost:8123", "Origin: https://fleet.example.com",
	      "Sec-Fetch-Site: same-origin" },
	    200 },
	{ { "Host: evil.example.com", "Origin: http://evil.example.com" }, 403 },
	{ { "Host: evil.example.com", "Origin: http://evil.example.com",
	      "Sec-Fetch-Site: same-origin" },
	    403 },
	{ { "Host: localhost:8123", "Origin: null" }, 403 },
};

START_TEST(our_own_page_may_ask)
{
	struct serve_answer answer = ASK(.path = "/docs");

	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(
	    serve_header(&answer, "Content-Type"), "text/html; charset=utf-8");
	ck_assert_has(
	    serve_header(&answer, "Content-Security-Policy"), "default-src 'none'");
	answer = ASK(.path = "/threads", .body = "{}",
	    .headers = {
		pages[_i].headers[0], pages[_i].headers[1], pages[_i].headers[2] });
	ck_assert_int_eq(answer.status, pages[_i].status);
	ck_assert_ptr_null(serve_header(&answer, "Access-Control-Allow-Origin"));
}
END_TEST

START_TEST(a_page_that_is_named_may_ask)
{
	struct cli_job *server;
	const char *url = serve_start(
	    &server, (const char *const[]){ "--cors-origin", "https://other.example.com",
			 "--cors-origin", ORIGIN, "--api-keys", key_file(0600), NULL });
	/* Without a key: it is the browser's question. */
	struct serve_answer answer = ASK(.url = url, .method = "OPTIONS",
	    .path = "/threads/x/runs/stream",
	    .headers = { "Origin: " ORIGIN, "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: content-type,x-api-key,last-event-id" });

	ck_assert_int_eq(answer.status, 204);
	ck_assert_str_eq(serve_header(&answer, "Access-Control-Allow-Origin"), ORIGIN);
	ck_assert_str_eq(serve_header(&answer, "Access-Control-Allow-Headers"),
	    "content-type,x-api-key,last-event-id");
	ck_assert_has(serve_header(&answer, "Access-Control-Allow-Methods"), "PATCH");
	answer = ASK(.url = url, .path = "/threads", .body = "{}",
	    .headers = { "Origin: " ORIGIN, "X-Api-Key: " KEY });
	ck_assert_int_eq(answer.status, 200);
	ck_assert_str_eq(serve_header(&answer, "Access-Control-Allow-Origin"), ORIGIN);
	ck_assert_str_eq(serve_header(&answer, "Vary"), "Origin");
	ck_assert_has(serve_header(&answer, "Access-Control-Expose-Headers"),
	    "Content-Location, Location");
	/* Errors can be read, too. */
	answer = ASK(.url = url, .path = "/info", .headers = { "Origin: " ORIGIN });
	ck_assert_int_eq(answer.status, 401);
	ck_assert_str_eq(serve_header(&answer, "Access-Control-Allow-Origin"), ORIGIN);
	answer = ASK(.url = url, .path = "/threads", .body = "{}",
	    .headers = { "Origin: " ORIGIN ".evil.com", "X-Api-Key: " KEY });
	ck_assert_int_eq(answer.status, 403);
	serve_stop(&server);
}
END_TEST

START_TEST(all_pages_may_ask_if_that_is_said)
{
	struct cli_job *server;
	const char *url =
	    serve_start(&server, (const char *const[]){ "--cors-origin", "*", NULL });

	ck_assert_int_eq(ASK(.url = url, .path = "/threads", .body = "{}",
			     .headers = { "Origin: " ORIGIN })
			     .status,
	    200);
	serve_stop(&server);
}
END_TEST

static const struct {
	const char *host;
	long status;
} hosts[] = {
	{ "Host: localhost", 200 },
	{ "Host: localhost:8123", 200 },
	{ "Host: 127.0.0.1:1", 200 },
	{ "Host: [::1]:1", 200 },
	{ "Host: evil.example.com", 403 },
	{ "Host: localhost.evil.com", 403 },
	{ "Host: 127.0.0.1.evil.com:8123", 403 },
	{ "Host: user@evil.com", 403 },
	{ "Host: localhost@evil.com", 403 },
	{ "Host: evil.com/localhost", 403 },
};

/* Else a page of a site whose name leads here would be no other site's. */
START_TEST(without_keys_it_answers_to_its_own_name)
{
	ck_assert_msg(ASK(.path = "/info", .headers = { hosts[_i].host }).status ==
			  hosts[_i].status,
	    "%s", hosts[_i].host);
}
END_TEST

/* --- how much at once ----------------------------------------------------------------------- */

struct crowd {
	const char *url; /* of a server of its own */
	struct serve_answer own, others, admins;
};

static struct serve_answer
count_at(const char *url, const char *key)
{
	return ASK(.url = url, .path = "/threads/count", .body = "{}",
	    .headers = { key });
}

/* While a stream of acme's goes on. */
static bool
ask_beside(void *arg, const struct serve_frame *frame)
{
	struct crowd *crowd = arg;

	(void)frame;
	crowd->own = count_at(crowd->url, "X-Api-Key: " KEY);
	crowd->others = count_at(crowd->url, "X-Api-Key: " OTHER_KEY);
	crowd->admins = count_at(crowd->url, "X-Api-Key: " PLAIN_KEY);
	return false;
}

START_TEST(who_has_much_going_on_leaves_room_for_others)
{
	const char *path = key_file(0600);
	struct cli_job *server;
	struct crowd crowd = { .url = serve_start(
				   &server, (const char *const[]){ "--api-keys", path,
						"--tenant-requests", "1", NULL }) };
	unsigned looks = 0;

	ASK(.url = crowd.url, .path = "/runs/stream",
	    .body = "{'assistant_id': 'slow', 'on_disconnect': 'cancel', " HI "}",
	    .headers = { "X-Api-Key: " KEY }, .on_frame = ask_beside, .arg = &crowd);
	ck_assert_int_eq(crowd.own.status, 429);
	ck_assert_str_eq(serve_header(&crowd.own, "Retry-After"), "1");
	ck_assert_str_eq(value_get_text(crowd.own.json, "detail"),
	    "1 requests of your tenant are going on, as many as may be at once");
	ck_assert_int_eq(crowd.others.status, 200);
	ck_assert_int_eq(crowd.admins.status, 200);
	/* It has hung up: soon there is room again. */
	while (
	    count_at(crowd.url, "X-Api-Key: " KEY).status == 429 && looks++ < SERVE_LOOKS)
		serve_pause();
	ck_assert_int_eq(count_at(crowd.url, "X-Api-Key: " KEY).status, 200);
	serve_stop(&server);
}
END_TEST

/* --- flags -------------------------------------------------------------------------------- */

static const struct {
	const char *flags[4];
	int status;
	const char *words;
} wrong[] = {
	{ { "--listen", "0.0.0.0:0" }, STATUS_USAGE, "others reach that" },
	{ { "--listen", "[::]:0" }, STATUS_USAGE, "others reach that" },
	{ { "--listen", "8123" }, STATUS_USAGE, "must be HOST:PORT" },
	{ { "--listen", "127.0.0.1:x", "--open" }, STATUS_USAGE, "must be HOST:PORT" },
	{ { "--api-keys", "nowhere.keys" }, STATUS_FAILED, "No such file" },
	{ { "--api-keys", "agents.yaml" }, STATUS_FAILED, "chmod 600" },
	{ { "--connections", "0" }, STATUS_USAGE, "--connections" },
	{ { "--bodies-bytes-max", "9000000" }, STATUS_USAGE, "--bodies-bytes-max" },
	{ { "--answers-bytes-max", "64M" }, STATUS_USAGE, "--answers-bytes-max" },
	{ { "--redis", "unix:///nowhere" }, STATUS_UNREACHABLE, "no Redis" },
	{ { "more" }, STATUS_USAGE, "more" },
};

START_TEST(what_it_cannot_start_with_is_said)
{
	const char *argv[6] = { "serve" };
	struct said said;

	memcpy(argv + 1, wrong[_i].flags, sizeof wrong[_i].flags);
	said = cli_run(&fleet->flotilla, NULL, argv);
	ck_assert_msg(said.status == wrong[_i].status, "%d: %s", said.status, said.err);
	ck_assert_has(said.err, wrong[_i].words);
	ck_assert_str_eq(said.out, "");
}
END_TEST

START_TEST(it_may_be_open_to_all)
{
	struct cli_job *server;
	const char *url = serve_start(
	    &server, (const char *const[]){ "--listen", "0.0.0.0:0", "--open", NULL });

	url = arena_printf(fleet->arena, "http://127.0.0.1%s", strrchr(url, ':'));
	ck_assert_int_eq(
	    ASK(.url = url, .path = "/info", .headers = { "Host: fleet.example.com" })
		.status,
	    200);
	serve_stop(&server);
}
END_TEST

TCase *
tcase_serve_rights(void)
{
	TCase *tcase = tcase_create("serve_rights");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, who_has_a_key_may_ask);
	tcase_add_test(tcase, a_keys_tenant_is_its_runs);
	tcase_add_test(tcase, who_has_much_going_on_leaves_room_for_others);
	tcase_add_test(tcase, a_page_of_another_site_changes_nothing);
	tcase_add_loop_test(
	    tcase, our_own_page_may_ask, 0, sizeof pages / sizeof pages[0]);
	tcase_add_test(tcase, a_page_that_is_named_may_ask);
	tcase_add_test(tcase, all_pages_may_ask_if_that_is_said);
	tcase_add_loop_test(
	    tcase, without_keys_it_answers_to_its_own_name, 0, COUNT(hosts));
	tcase_add_loop_test(tcase, what_it_cannot_start_with_is_said, 0, COUNT(wrong));
	tcase_add_test(tcase, it_may_be_open_to_all);
	return tcase;
}
