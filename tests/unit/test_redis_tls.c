/* The Redis client by TLS, against a real redis-server with certificates made by openssl. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <openssl/ssl.h>

#include "certificates.h"
#include "children.h"
#include "fiber.h"
#include "redis_trial.h"
#include "test_place.h"

/* Interface under test */
#include "redis.h"

TCase *tcase_redis_tls(void);

static char *folder; /* of the certificates, the same for all checks */
static const char *port;
static struct child *server;
static struct redis *own;

static void
make_certificates(void)
{
	folder = folder_new();
	certificates_make(folder);
}

static void
remove_certificates(void)
{
	folder_remove(&folder);
}

static const char *
file(const char *name)
{
	return arena_printf(redis_trial.arena, "%s/%s", folder, name);
}

/* Starts a server with a certificate that speaks nothing but TLS; auth_clients is "yes" where clients need one. */
static void
start(const char *name, const char *auth_clients)
{
	const char *const argv[] = { "redis-server", "--port", "0", "--tls-port", port,
		"--bind", "127.0.0.1", "--tls-cert-file",
		arena_printf(redis_trial.arena, "%s/%s.pem", folder, name),
		"--tls-key-file",
		arena_printf(redis_trial.arena, "%s/%s.key", folder, name),
		"--tls-ca-cert-file", file("ca.pem"), "--tls-auth-clients", auth_clients,
		"--save", "", "--supervised", "systemd", "--dir", redis_trial.folder,
		"--logfile", "/dev/null", NULL };

	server = child_start(argv, NULL);
}

static void
set_up(void)
{
	redis_trial_open();
	port = place_port(redis_trial.arena);
}

static void
tear_down(void)
{
	if (own != NULL)
		redis_destroy(&own);
	child_kill(&server);
	redis_trial_close();
}

/* Returns text with the folder for each %s. */
static const char *
filled(const char *text)
{
	const char *at;

	while ((at = strstr(text, "%s")) != NULL)
		text = arena_printf(redis_trial.arena, "%.*s%s%s", (int)(at - text), text,
		    folder, at + 2);
	return text;
}

/* A client of host, with parameters to be filled. */
static void
connect_to(const char *host, const char *parameters)
{
	own = redis_trial_client(arena_printf(redis_trial.arena, "rediss://%s:%s/2?%s",
				     host, port, filled(parameters)),
	    NULL);
}

static const struct value *
ask(const char *first, const char *second, const char *third)
{
	return redis_trial_ask(
	    (struct redis_question){ .redis = own, .words = { first, second, third } });
}

static const char *awaited;

static bool
has_trouble(void *arg)
{
	return strstr(redis_trouble(arg), awaited) != NULL;
}

static void
check_trouble(const char *words)
{
	awaited = words;
	redis_trial_run_until(has_trouble, own);
	ck_assert(!redis_is_up(own));
}

/* --- who is let in --------------------------------------------------------------------- */

static const char *const hosts[] = { "127.0.0.1", "localhost" };

START_TEST(speaks_tls)
{
	start("server", "no");
	connect_to(hosts[_i], "ssl_ca_certs=%s/ca.pem");
	redis_trial_check(ask("SET", "k", "v"), "OK");
	redis_trial_check(ask("GET", "k", NULL), "v");
	ck_assert_ptr_nonnull(
	    strstr(redis_reply_text(ask("CLIENT", "INFO", NULL)), " db=2 "));
}
END_TEST

START_TEST(shows_a_certificate_of_its_own)
{
	start("server", "yes");
	connect_to("localhost", "ssl_ca_certs=%s/ca.pem&ssl_certfile=%s/"
				"client.pem&ssl_keyfile=%s/client.key");
	redis_trial_check(ask("SET", "k", "v"), "OK");
}
END_TEST

START_TEST(is_told_that_it_needs_one)
{
	start("server", "yes");
	connect_to("localhost", "ssl_ca_certs=%s/ca.pem");
	check_trouble("ssl_certfile");
}
END_TEST

static const struct {
	const char *server, *parameters, *trouble; /* NULL: none */
} meetings[] = {
	{ "stranger", "ssl_ca_certs=%s/ca.pem", "not among ssl_ca_certs" },
	{ "stranger", "ssl_ca_certs=%s/stranger.pem", NULL },
	{ "stranger", "ssl_cert_reqs=none", NULL },
	{ "other", "ssl_ca_certs=%s/ca.pem", "not for the host of the URL" },
	{ "other", "ssl_ca_certs=%s/ca.pem&ssl_check_hostname=false", NULL },
	/* Of the system's there is none that signs for 127.0.0.1. */
	{ "server", "ssl_cert_reqs=required", "not among ssl_ca_certs" },
};

START_TEST(looks_at_the_servers_certificate)
{
	start(meetings[_i].server, "no");
	connect_to("127.0.0.1", meetings[_i].parameters);
	if (meetings[_i].trouble == NULL)
		redis_trial_check(ask("SET", "k", "v"), "OK");
	else
		check_trouble(meetings[_i].trouble);
}
END_TEST

/* --- who speaks something else --------------------------------------------------------- */

/* It takes the handshake for a command, whose end may or may not be in it. */
START_TEST(a_server_without_tls_is_told_apart)
{
	child_kill(&redis_trial.server);
	redis_trial_start(port);
	connect_to("127.0.0.1", "ssl_ca_certs=%s/ca.pem");
	check_trouble("speak");
}
END_TEST

START_TEST(a_server_with_tls_is_told_apart)
{
	start("server", "no");
	own = redis_trial_client(
	    arena_printf(redis_trial.arena, "redis://127.0.0.1:%s", port), NULL);
	check_trouble("rediss://");
}
END_TEST

/* --- bytes ----------------------------------------------------------------------------- */

START_TEST(large_ones_go_both_ways)
{
	const size_t size = 5u << 20;
	char *text = arena_alloc(redis_trial.arena, size + 1);
	size_t i;

	for (i = 0; i < size; i++)
		text[i] = (char)('a' + i * i % 23);
	start("server", "no");
	connect_to("127.0.0.1", "ssl_ca_certs=%s/ca.pem");
	ask("SET", "k", text);
	redis_trial_check(ask("GET", "k", NULL), text);
}
END_TEST

/* More than the sockets hold. (Answers as large would be too much for Redis 7.0, which closes the connection of
 * who is slower than it is: "bad length".) */
START_TEST(many_at_once_are_answered_in_order)
{
	static struct redis_question questions[400];
	char *text = arena_alloc(redis_trial.arena, 20001);
	int i;

	memset(text, 'x', 20000);
	start("server", "no");
	connect_to("127.0.0.1", "ssl_ca_certs=%s/ca.pem");
	ask("PING", NULL, NULL);
	for (i = 0; i < 400; i++) {
		questions[i] = (struct redis_question){ .redis = own,
			.words = { "APPEND", "k", text } };
		redis_trial_begin(&questions[i]);
	}
	redis_trial_run();
	for (i = 0; i < 400; i++) {
		ck_assert_int_eq(questions[i].status, REDIS_OK);
		ck_assert_int_eq(questions[i].reply->integer, (i + 1) * 20000);
	}
}
END_TEST

/* --- coming and going ------------------------------------------------------------------ */

START_TEST(comes_back_and_reads_its_files_anew)
{
	ck_assert_int_eq(link(file("ca.pem"), file("trusted.pem")), 0);
	start("server", "no");
	connect_to("127.0.0.1", "ssl_ca_certs=%s/trusted.pem");
	redis_trial_check(ask("PING", NULL, NULL), "PONG");
	child_kill(&server);
	redis_trial_run_until(redis_trial_is_down, own);
	ck_assert_int_eq(unlink(file("trusted.pem")), 0);
	ck_assert_int_eq(link(file("stranger.pem"), file("trusted.pem")), 0);
	start("stranger", "no");
	redis_trial_check(ask("PING", NULL, NULL), "PONG");
}
END_TEST

static bool
is_connecting(void *arg)
{
	return strstr(redis_trouble(arg), "no answer") != NULL;
}

START_TEST(who_never_ends_the_handshake_is_given_up)
{
	start("server", "no");
	kill(child_pid(server), SIGSTOP);
	connect_to("127.0.0.1", "ssl_ca_certs=%s/ca.pem");
	redis_trial_run_until(is_connecting, own);
	kill(child_pid(server), SIGCONT);
	redis_trial_check(ask("PING", NULL, NULL), "PONG");
}
END_TEST

/* A server in the test's own thread. */
static struct peer {
	int listener, one;
	SSL_CTX *context;
	SSL *ssl;
	int last; /* what its last read came to, as of SSL_get_error */
} peer;

static void
listen_by_tls(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int yes = 1;

	peer = (struct peer){ .one = -1, .context = SSL_CTX_new(TLS_server_method()) };
	ck_assert_int_eq(
	    SSL_CTX_use_certificate_chain_file(peer.context, file("server.pem")), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(
			     peer.context, file("server.key"), SSL_FILETYPE_PEM),
	    1);
	peer.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(peer.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	ck_assert_int_eq(
	    bind(peer.listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(peer.listener, 8), 0);
}

static bool
is_shaken(void *arg)
{
	(void)arg;
	if (peer.one == -1) {
		peer.one =
		    accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (peer.one == -1)
			return false;
		peer.ssl = SSL_new(peer.context);
		SSL_set_fd(peer.ssl, peer.one);
	}
	return SSL_accept(peer.ssl) == 1;
}

/* Whether there was something of that kind; what else is said is passed over. */
static bool
has_read(void *arg)
{
	const int *wanted = arg;
	char bytes[4096];
	int size;

	while ((size = SSL_read(peer.ssl, bytes, sizeof bytes)) > 0)
		if (*wanted == SSL_ERROR_NONE)
			return true;
	peer.last = SSL_get_error(peer.ssl, size);
	return *wanted != SSL_ERROR_NONE && peer.last != SSL_ERROR_WANT_READ;
}

/* Else a server cannot tell it from a connection that somebody cut. */
START_TEST(says_that_it_ends)
{
	int something = SSL_ERROR_NONE, the_end = SSL_ERROR_ZERO_RETURN;

	listen_by_tls();
	connect_to("127.0.0.1", "ssl_ca_certs=%s/ca.pem");
	redis_trial_run_until(is_shaken, NULL);
	redis_trial_run_until(has_read, &something);
	redis_destroy(&own);
	redis_trial_run_until(has_read, &the_end);
	ck_assert_int_eq(peer.last, SSL_ERROR_ZERO_RETURN);
	SSL_free(peer.ssl);
	SSL_CTX_free(peer.context);
	close(peer.one);
	close(peer.listener);
}
END_TEST

/* --- what a URL says ------------------------------------------------------------------- */

static const struct {
	const char *parameters, *error;
} bad[] = {
	{ "ssl_ca_certs=%s/nothing.pem", "/nothing.pem: No such file or directory" },
	{ "ssl_ca_certs=%s/ca.key", "/ca.key: " },
	{ "ssl_certfile=%s/nothing.pem", "ssl_certfile=" },
	{ "ssl_certfile=%s/client.pem", "ssl_keyfile=" },
	{ "ssl_certfile=%s/client.pem&ssl_keyfile=%s/ca.key", "key values mismatch" },
	{ "ssl_keyfile=%s/client.key", "ssl_keyfile wants ssl_certfile" },
	{ "ssl_cert_reqs=optional", "parameter 1 of the URL is none of" },
	{ "ssl_check_hostname=true&ssl_ca_certs=", "parameter 2 of the URL is none of" },
	{ "tls", "parameter 1 of the URL is none of ssl_ca_certs=FILE" },
};

START_TEST(a_bad_parameter_is_refused_at_once)
{
	const char *url = arena_printf(
	    redis_trial.arena, "rediss://127.0.0.1:1?%s", filled(bad[_i].parameters));
	const char *error = NULL;

	ck_assert_ptr_null(redis_new(redis_trial.loop, url, NULL, &error));
	ck_assert_msg(strstr(error, bad[_i].error) != NULL, "%s", error);
}
END_TEST

TCase *
tcase_redis_tls(void)
{
	TCase *tcase = tcase_create("redis_tls");

	tcase_set_timeout(tcase, 30);
	tcase_add_unchecked_fixture(tcase, make_certificates, remove_certificates);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, speaks_tls, 0, sizeof hosts / sizeof *hosts);
	tcase_add_test(tcase, shows_a_certificate_of_its_own);
	tcase_add_test(tcase, is_told_that_it_needs_one);
	tcase_add_loop_test(tcase, looks_at_the_servers_certificate, 0,
	    sizeof meetings / sizeof *meetings);
	tcase_add_test(tcase, a_server_without_tls_is_told_apart);
	tcase_add_test(tcase, a_server_with_tls_is_told_apart);
	tcase_add_test(tcase, large_ones_go_both_ways);
	tcase_add_test(tcase, many_at_once_are_answered_in_order);
	tcase_add_test(tcase, comes_back_and_reads_its_files_anew);
	tcase_add_test(tcase, who_never_ends_the_handshake_is_given_up);
	tcase_add_test(tcase, says_that_it_ends);
	tcase_add_loop_test(
	    tcase, a_bad_parameter_is_refused_at_once, 0, sizeof bad / sizeof *bad);
	return tcase;
}
