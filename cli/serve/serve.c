/* serve: agents, threads and runs over HTTP, in the form of LangGraph's API. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api.h"
#include "blueprint.h"
#include "bounds.h"
#include "command.h"
#include "descriptors.h"
#include "fiber.h"
#include "issuer.h"
#include "listen_address.h"
#include "live.h"
#include "log.h"
#include "memory.h"
#include "metrics_server.h"
#include "notify.h"
#include "serve_keys.h"
#include "traffic.h"

#define MAPPED_BYTES_MIN (256 << 10)

struct serve_settings {
	struct common_settings common;
	const char *listen, *keys, *jwt_keys;
	struct token_rules jwt;
	const char **origins, **plugins;
	const char *models;
	bool open, log_requests;
	const char *metrics_listen;
	int64_t connections, bodies_bytes_max, answers_bytes_max, tenant_requests,
	    redis_wait_ms;
};

#define SETTING(field) offsetof(struct serve_settings, field)
static const struct setting serve_settings_table[] = {
	COMMON_SETTINGS,
	{ "listen", SETTING_TEXT, SETTING(listen), "127.0.0.1:8123", 0, 0, NULL,
	    "HOST:PORT to answer at; port 0: any that is free", 0 },
	{ "api-keys", SETTING_TEXT, SETTING(keys), NULL, 0, 0, NULL,
	    "a file with the keys that may ask, one a line, behind a space the tenant "
	    "that it is bound to, if it is; only its owner may read it",
	    0 },
	{ "jwt-keys", SETTING_TEXT, SETTING(jwt_keys), NULL, 0, 0, NULL,
	    "a file or an https:// URL with the public keys (a JWK set) of who issues "
	    "JSON Web Tokens: such tokens may ask, too, each for its tenant",
	    0 },
	{ "jwt-issuer", SETTING_TEXT, SETTING(jwt.issuer), NULL, 0, 0, NULL,
	    "what must stand in a token as `iss`", 0 },
	{ "jwt-audience", SETTING_TEXT, SETTING(jwt.audience), NULL, 0, 0, NULL,
	    "what must be in a token's `aud`", 0 },
	{ "jwt-tenant", SETTING_TEXT, SETTING(jwt.tenant), "sub", 0, 0, NULL,
	    "the claim of a token that names its tenant", 0 },
	{ "open", SETTING_BOOL, SETTING(open), NULL, 0, 0, NULL,
	    "answer without keys also at addresses that others reach", 0 },
	{ "cors-origin", SETTING_LIST, SETTING(origins), NULL, 0, 0, NULL,
	    "whose pages may ask from a browser: https://app.example.com, or * for all; "
	    "may be given several times",
	    0 },
	{ "connections", SETTING_INTEGER, SETTING(connections), "1024", 1, 30000, NULL,
	    "at once; others wait", 0 },
	{ "bodies-bytes-max", SETTING_INTEGER, SETTING(bodies_bytes_max), "268435456",
	    INT64_C(2) * SERVE_BODY_BYTES_MAX, INT64_C(1) << 40, "bytes",
	    "that are held in requests' bodies and what is made of them; beyond, 503",
	    0 },
	{ "answers-bytes-max", SETTING_INTEGER, SETTING(answers_bytes_max), "268435456",
	    16 << 20, INT64_C(1) << 40, "bytes",
	    "that are held in answers and streams nobody has taken yet; beyond, 503, "
	    "and streams that are not read are cut off",
	    0 },
	{ "tenant-requests", SETTING_INTEGER, SETTING(tenant_requests), "0", 0, 30000,
	    NULL,
	    "of one tenant at once, streams and waits among them; further ones are "
	    "answered 429; 0: half of --connections",
	    0 },
	{ "redis-wait-ms", SETTING_INTEGER, SETTING(redis_wait_ms), "30000", 0, 600000,
	    "ms",
	    "how long a request waits for a Redis that has gone, and the start for one",
	    0 },
	{ "log-requests", SETTING_BOOL, SETTING(log_requests), NULL, 0, 0, NULL,
	    "a line on stderr for each request that is over, without its query", 0 },
	{ "metrics-listen", SETTING_TEXT, SETTING(metrics_listen), NULL, 0, 0, NULL,
	    "HOST:PORT where Prometheus finds /metrics, what requests came to; port 0: "
	    "any that is free",
	    0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware that agents have; may be given several "
	    "times",
	    0 },
	{ "models", SETTING_TEXT, SETTING(models), NULL, 0, 0, NULL,
	    "a YAML file with what models can do, hold and cost", 0 },
	SETTINGS_END,
};

/* --- requests ------------------------------------------------------------------------------- */

static void
on_head(void *arg, struct exchange *exchange)
{
	admit(arg, exchange);
}

static void
on_end(void *arg, void *share)
{
	struct api *api = arg;

	share_leave(&api->shares, share);
}

static void
on_done(void *arg, const struct http_done *done)
{
	const struct api *api = arg;
	const struct share *share = done->whose;

	traffic_note(api->traffic, done, share != NULL ? share->tenant : NULL);
}

static void
on_request(void *arg, struct exchange *exchange)
{
	fiber_note("http", exchange->path);
	route(arg, exchange);
}

static void
on_terminate(uv_signal_t *handle, int number)
{
	(void)number;
	if (handle->data != NULL)
		fiber_cancel(handle->data);
}

static void
on_closed(uv_handle_t *handle)
{
	free(handle);
}

/* Until Ctrl-C or SIGTERM. */
static void
wait_for_end(struct loop *loop)
{
	uv_signal_t *terminate = xcalloc(1, sizeof *terminate);

	uv_signal_init(loop_uv(loop), terminate);
	terminate->data = fiber_current();
	uv_signal_start(terminate, on_terminate, SIGTERM);
	while (fiber_wait() == 0)
		continue;
	terminate->data = NULL;
	uv_close((uv_handle_t *)terminate, on_closed);
}

/* --- what Prometheus asks --------------------------------------------------------------------- */

struct metrics {
	struct metrics_server *server; /* NULL: nobody asks */
	const struct api *api;
	const struct http_server *http;
};

static void
on_metrics_wanted(void *arg)
{
	const struct metrics *metrics = arg;
	struct arena *arena = arena_new();
	struct metrics_rows rows;

	traffic_rows(metrics->api->traffic, metrics->http, arena, &rows);
	metrics_server_answer(metrics->server, metrics_text(arena, &rows));
	arena_destroy(&arena);
}

/* Returns STATUS_OK, or why it does not listen there, having said so. where NULL: nowhere. */
static enum status
listen_for_metrics(struct metrics *metrics, const char *where)
{
	const char *error;
	bool is_usage;

	if (where == NULL)
		return STATUS_OK;
	metrics->server = metrics_server_new(session_loop(metrics->api->session), where,
	    on_metrics_wanted, metrics, &error, &is_usage);
	if (metrics->server != NULL)
		return STATUS_OK;
	complain("--metrics-listen %s: %s", where, error);
	return is_usage ? STATUS_USAGE : STATUS_FAILED;
}

/* --- until it ends ------------------------------------------------------------------------------ */

static enum status
serve(struct api *api, const struct serve_settings *settings)
{
	const struct http_server_options options = {
		.listen = settings->listen,
		.connections_max = (unsigned)settings->connections,
		.head_bytes_max = SERVE_HEAD_BYTES_MAX,
		.body_bytes_max = SERVE_BODY_BYTES_MAX,
		.bodies_bytes_max = (size_t)settings->bodies_bytes_max,
		.answers_bytes_max = (size_t)settings->answers_bytes_max,
		.idle_s = SERVE_IDLE_S,
		.request_ms = SERVE_REQUEST_MS,
		.on_head = on_head,
		.on_request = on_request,
		.on_end = on_end,
		.on_done = on_done,
		.arg = api,
		.tells_json = true,
	};
	struct loop *loop = session_loop(api->session);
	struct metrics metrics = { .api = api };
	enum status status;
	const char *error;
	bool is_usage;
	struct http_server *server = http_server_new(loop, &options, &error, &is_usage);

	if (server == NULL) {
		complain("--listen %s: %s", settings->listen, error);
		return is_usage ? STATUS_USAGE : STATUS_FAILED;
	}
	metrics.http = server;
	status = listen_for_metrics(&metrics, settings->metrics_listen);
	if (status != STATUS_OK) {
		http_server_destroy(&server);
		return status;
	}
	printf("the fleet at http://%s%s; Ctrl-C ends\n", http_server_where(server),
	    admit_wants_key(api) ? ", with a key" : "");
	if (metrics.server != NULL)
		printf("metrics at %s\n", metrics_server_url(metrics.server));
	fflush(stdout);
	notify("READY=1");
	wait_for_end(loop);
	metrics_server_destroy(&metrics.server);
	http_server_destroy(&server);
	return STATUS_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Who may ask. Returns an exit status, having said why not. */
static enum status
set_rights(struct api *api, const struct serve_settings *settings)
{
	const char *error;

	api->origins = (const char *const *)settings->origins;
	api->is_local = listen_is_local(settings->listen);
	if (settings->keys != NULL) {
		api->keys =
		    serve_keys_read(session_arena(api->session), settings->keys, &error);
		if (api->keys != NULL)
			return STATUS_OK;
		complain("--api-keys: %s", error);
		return STATUS_FAILED;
	}
	if (settings->jwt_keys != NULL || api->is_local || settings->open ||
	    !listen_is_address(settings->listen))
		return STATUS_OK; /* what is no address is said when it is to be opened */
	complain(
	    "--listen %s: others reach that; --api-keys FILE or --jwt-keys say who may "
	    "ask, --open lets all",
	    settings->listen);
	return STATUS_USAGE;
}

/* What is signed for somebody else is no key here, so who and for whom must be said. */
static enum status
set_issuer(struct api *api, const struct serve_settings *settings)
{
	const char *error;
	bool is_said = settings->jwt.issuer != NULL && settings->jwt.audience != NULL;
	bool is_asked = settings->jwt.issuer != NULL || settings->jwt.audience != NULL;

	if (settings->jwt_keys == NULL && !is_asked)
		return STATUS_OK;
	if (settings->jwt_keys == NULL || !is_said) {
		complain("--jwt-keys, --jwt-issuer and --jwt-audience go together");
		return STATUS_USAGE;
	}
	api->issuer = issuer_new(session_loop(api->session), session_arena(api->session),
	    settings->jwt_keys, &settings->jwt, &error);
	if (api->issuer != NULL)
		return STATUS_OK;
	complain("--jwt-keys %s: %s",
	    issuer_shown(session_arena(api->session), settings->jwt_keys), error);
	return STATUS_FAILED;
}

/* What is large goes back to the kernel when it is let go: else glibc learns from it to keep it, and where something small
 * lies behind it, does so for good. */
static void
keep_no_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
}

static uint64_t
requests_max(const struct serve_settings *settings)
{
	if (settings->tenant_requests > 0)
		return (uint64_t)settings->tenant_requests;
	return (uint64_t)(settings->connections + 1) / 2;
}

static enum status
run_serve(struct session *session, const void *given, const char *const *rest)
{
	const struct serve_settings *settings = given;
	struct api api = { .session = session,
		.redis_wait_ms = (uint64_t)settings->redis_wait_ms };
	enum status status = set_rights(&api, settings);

	(void)rest;
	if (status == STATUS_OK)
		status = (enum status)session_load_plugins(
		    (const char *const *)settings->plugins);
	if (status == STATUS_OK)
		status = (enum status)session_load_models(session, settings->models);
	if (status != STATUS_OK)
		return status;
	/* A connection is one, a stream another; the soft limit is a thousand for old programs' sake. */
	descriptors_take(DESCRIPTORS_ALL);
	keep_no_memory();
	session_wait_for_redis(session, api.redis_wait_ms);
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	api.live = live_new(session);
	if (api.live == NULL)
		return STATUS_UNREACHABLE;
	TAILQ_INIT(&api.waiters);
	gate_init(&api.states, SERVE_STATES_MAX);
	gate_init(&api.lists, SERVE_LISTS_MAX);
	gate_init(&api.searches, SERVE_SEARCHES_MAX);
	shares_init(&api.shares, requests_max(settings));
	api.blueprints = blueprints_new();
	api.traffic = traffic_new(settings->log_requests);
	if (settings->log_requests)
		log_open("flotilla", LOG_LEVEL_INFO);
	status = set_issuer(&api, settings);
	if (status == STATUS_OK)
		status = serve(&api, settings);
	issuer_destroy(&api.issuer);
	blueprints_destroy(&api.blueprints);
	live_destroy(&api.live);
	traffic_destroy(&api.traffic);
	return status;
}

const struct command command_serve = {
	.name = "serve",
	.usage = "",
	.summary =
	    "serves agents, threads and runs over HTTP, as LangGraph's server does",
	.text =
	    "Answers in the form of LangGraph's API until it is told to end (SIGTERM, "
	    "Ctrl-C): its clients, in Python and JavaScript, work as they are. It "
	    "holds nothing: several may serve one fleet, and whoever was cut off goes "
	    "on at another.",
	.table = serve_settings_table,
	.settings_size = sizeof(struct serve_settings),
	.arguments_max = 0,
	.run = run_serve,
};
