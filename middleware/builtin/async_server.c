#include "async_server.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "http.h"
#include "json.h"
#include "url.h"
#include "utf8.h"

#define CONNECT_MS 5000u
#define ANSWER_MS 30000u
#define UUID_BYTES 37u
#define SHOWN_BYTES 256u
#define LINES_MAX (SERVER_HEADERS_MAX + 4u)

struct server {
	const char *url;    /* without slashes at its end */
	const char *key;    /* or NULL */
	const char *header; /* that brings the key */
};

#define FORM                                                                             \
	"URL[,VARIABLE[:HEADER]], the URL with http:// or https:// and without a user"

static struct {
	struct http *http;
	struct arena *arena;
	struct server servers[SERVERS_MAX];
	size_t count;
} world;

/* One call of a tool. */
struct talk {
	struct tool_request *request;
	struct arena *arena;
	const struct server *server;
	const char *lines[LINES_MAX + 1];
	const struct value *answer; /* the last one's body */
	long status;
	const struct value *failed; /* {fault}, once something did */
};

/* --- the servers ----------------------------------------------------------------------- */

static size_t
trimmed(const char *url)
{
	size_t size = strlen(url);

	while (size > 0 && url[size - 1] == '/')
		size--;
	return size;
}

static bool
is_variable(const char *name)
{
	return *name != '\0' && !isdigit((unsigned char)*name) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_")] == '\0';
}

/* Takes "VARIABLE[:header]". Returns why not, or NULL. */
static const char *
add_key(struct server *server, const char *text)
{
	const char *colon = strchr(text, ':');
	const char *name = arena_copy(
	    world.arena, text, colon == NULL ? strlen(text) : (size_t)(colon - text));
	const char *key = getenv(name);

	if (!is_variable(name) ||
	    (colon != NULL && !async_server_is_token(colon + 1, strlen(colon + 1))))
		return FORM;
	if (server->key != NULL)
		return "one key for each server";
	if (key == NULL || *key == '\0')
		return "a server whose key is in the environment: the variable named "
		       "there is not set";
	for (const char *at = key; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			return "a server whose key HTTP can send: the variable named "
			       "there has a control character";
	if (colon != NULL)
		server->header = arena_strdup(world.arena, colon + 1);
	server->key = arena_strdup(world.arena, key);
	return NULL;
}

/* Of an item what may be shown, lent until the next call: a key may stand in the place of its variable's name. */
static const char *
shown(const char *item)
{
	static char text[SHOWN_BYTES];
	bool has_url = strstr(item, "://") != NULL;
	size_t url = has_url ? strcspn(item, ",") : 0;
	const char *name = item + url + (has_url && item[url] == ',');
	size_t size = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	snprintf(text, sizeof text, "%s%s%.*s%s",
	    has_url ? url_shown(world.arena, item, url) : "", item[url] == ',' ? "," : "",
	    (int)size, name, name[size] != '\0' ? "..." : "");
	return text;
}

static const char *
add_server(const char *item)
{
	const char *comma = strchr(item, ',');
	struct server *server = &world.servers[world.count];
	char *url = arena_copy(
	    world.arena, item, comma == NULL ? strlen(item) : (size_t)(comma - item));

	if (comma == NULL && strstr(item, "://") == NULL)
		return world.count == 0 ? FORM : add_key(server - 1, item);
	if (world.count == SERVERS_MAX || !async_server_is_url(url))
		return world.count == SERVERS_MAX ? "fewer servers" : FORM;
	url[trimmed(url)] = '\0';
	*server = (struct server){ .url = url, .header = "x-api-key" };
	world.count++;
	return comma == NULL ? NULL : add_key(server, comma + 1);
}

int
async_servers_open(struct http *http, const char *const *list, const char **item_r,
    const char **allowed_r)
{
	async_servers_close();
	world.arena = arena_new();
	world.http = http;
	for (; list != NULL && *list != NULL; list++)
		if ((*allowed_r = add_server(*list)) != NULL) {
			*item_r = shown(*list);
			async_servers_close();
			return -1;
		}
	return 0;
}

void
async_servers_close(void)
{
	if (world.arena != NULL)
		arena_destroy(&world.arena);
	memset(&world, 0, sizeof world);
}

static const struct server *
find_server(const char *url)
{
	size_t i, size = trimmed(url);

	for (i = 0; i < world.count; i++)
		if (strlen(world.servers[i].url) == size &&
		    strncmp(world.servers[i].url, url, size) == 0)
			return &world.servers[i];
	return NULL;
}

/* --- requests -------------------------------------------------------------------------- */

static int
fail(struct talk *talk, const struct fault *fault)
{
	talk->failed =
	    value_map(talk->arena, "fault", fault_to_value(talk->arena, fault), NULL);
	return -1;
}

static int
fail_with(struct talk *talk, const char *text)
{
	return fail(talk, fault_new(talk->arena, "ConnectionError", "%s", text));
}

static void
fill_lines(struct talk *talk, const struct value *headers)
{
	struct arena *arena = talk->arena;
	bool has_scheme = false;
	size_t i, count = 0;

	talk->lines[count++] = "Content-Type: application/json";
	for (i = 0; i < value_size(headers); i++) {
		const char *name = value_text(headers->pairs[i].key);

		/* The worker's key is the only one in its header. */
		if (strcasecmp(name, talk->server->header) == 0)
			continue;
		has_scheme = has_scheme || strcasecmp(name, "x-auth-scheme") == 0;
		talk->lines[count++] = arena_printf(
		    arena, "%s: %s", name, value_text(headers->pairs[i].value));
	}
	if (!has_scheme)
		talk->lines[count++] = "x-auth-scheme: langsmith";
	if (talk->server->key != NULL)
		talk->lines[count++] = arena_printf(
		    arena, "%s: %s", talk->server->header, talk->server->key);
	talk->lines[count] = NULL;
}

/* What the server says of an error is not repeated: it may echo what it was sent. */
static int
take(struct talk *talk, const struct http_response *response)
{
	const char *key = talk->server->key, *error;

	talk->status = response->status;
	talk->answer = NULL;
	if (response->failure == HTTP_CANCELLED)
		return fail(talk, fault_cancelled(talk->arena));
	if (response->failure != HTTP_OK)
		return fail_with(
		    talk, arena_printf(talk->arena, "no answer of the server %s: %s",
			      talk->server->url, response->reason));
	if (response->status < 200 || response->status > 299)
		return fail_with(
		    talk, arena_printf(talk->arena, "the server %s answered HTTP %ld",
			      talk->server->url, response->status));
	if (key != NULL &&
	    memmem(response->body, response->body_size, key, strlen(key)) != NULL)
		return fail_with(talk, "the server's answer repeats its key");
	if (response->body_size > 0)
		talk->answer =
		    json_parse(talk->arena, response->body, response->body_size, &error);
	return 0;
}

/* Returns 0 with talk->answer, NULL where that is no JSON, or -1 with talk->failed. */
static int
ask_server(
    struct talk *talk, const char *method, const char *path, const struct value *body)
{
	const char *text = body == NULL ? NULL : json_text(talk->arena, body);
	struct http_request request = {
		.method = method,
		.url = arena_printf(talk->arena, "%s%s", talk->server->url, path),
		.headers = talk->lines,
		.body = text,
		.body_size = text == NULL ? 0 : strlen(text),
		.connect_timeout_ms = CONNECT_MS,
		.timeout_ms = ANSWER_MS,
		.body_bytes_max = SERVER_ANSWER_BYTES_MAX,
	};
	struct http_response response;

	http_send(world.http, talk->arena, &request, &response);
	return take(talk, &response);
}

/* --- threads and runs ------------------------------------------------------------------ */

/* It goes into a path. */
static bool
is_id(const char *text)
{
	size_t size = text == NULL ? 0 : strlen(text);

	return size > 0 && size <= ID_BYTES_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_") == size;
}

/* The thread that this call begins, whoever makes it. With the server's key in it, which nobody else has: others may have
 * calls of the same name there. */
static const char *
thread_of(struct talk *talk)
{
	const char *text =
	    arena_printf(talk->arena, "%s\n%s", tool_idempotency_key(talk->request),
		talk->server->key != NULL ? talk->server->key : "");
	unsigned char hash[16];

	crypto_generichash(
	    hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
	hash[6] = (unsigned char)((hash[6] & 0x0f) | 0x40);
	hash[8] = (unsigned char)((hash[8] & 0x3f) | 0x80);
	return arena_printf(talk->arena,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
	    hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7],
	    hash[8], hash[9], hash[10], hash[11], hash[12], hash[13], hash[14], hash[15]);
}

/* The run that an earlier attempt of this call has begun, or NULL. */
static const char *
find_run(struct talk *talk, const char *thread)
{
	const char *key = tool_idempotency_key(talk->request);
	size_t i;

	if (ask_server(talk, "GET",
		arena_printf(talk->arena, "/threads/%s/runs?limit=100", thread),
		NULL) == -1) {
		/* A server without a list of runs. */
		if (talk->status == 404 || talk->status == 405)
			talk->failed = NULL;
		return NULL;
	}
	for (i = 0; i < value_size(talk->answer); i++) {
		const struct value *run = value_at(talk->answer, i);

		if (value_text_is(
			value_get(value_get(run, "metadata"), "flotilla_call"), key))
			return value_get_text(run, "run_id");
	}
	return NULL;
}

static const struct value *
told(struct talk *talk, const char *thread, const char *run, const char *status)
{
	if (talk->failed == NULL && !is_id(run))
		fail_with(talk, "the server's answer is not that of a LangGraph server");
	return talk->failed != NULL
		   ? talk->failed
		   : value_map(talk->arena, "thread", value_str(talk->arena, thread),
			 "run", value_str(talk->arena, run), "status",
			 value_str(talk->arena, status), NULL);
}

static const struct value *
begin_run(struct talk *talk, const struct value *entry, const struct value *ask,
    const char *thread, const char *multitask)
{
	struct arena *arena = talk->arena;
	const struct value *message = value_map(arena, "role", value_str(arena, "user"),
	    "content", value_get(ask, "text"), NULL);
	const struct value *body =
	    value_map(arena, "assistant_id", value_get(entry, "graph_id"), "input",
		value_map(arena, "messages", value_array(arena, &message, 1), NULL),
		"metadata",
		value_map(arena, "flotilla_call",
		    value_str(arena, tool_idempotency_key(talk->request)), NULL),
		"multitask_strategy", value_str(arena, multitask), NULL);
	const char *run = find_run(talk, thread);

	if (run == NULL && talk->failed == NULL &&
	    ask_server(
		talk, "POST", arena_printf(arena, "/threads/%s/runs", thread), body) == 0)
		run = value_get_text(talk->answer, "run_id");
	return told(talk, thread, run, "running");
}

static const struct value *
start(struct talk *talk, const struct value *entry, const struct value *ask)
{
	struct arena *arena = talk->arena;
	const char *thread = thread_of(talk);

	if (ask_server(talk, "POST", "/threads",
		value_map(arena, "thread_id", value_str(arena, thread), "if_exists",
		    value_str(arena, "do_nothing"), NULL)) == -1)
		return talk->failed;
	thread = value_get_text(talk->answer, "thread_id");
	if (!is_id(thread))
		return told(talk, "", NULL, "");
	return begin_run(talk, entry, ask, thread, "reject");
}

/* A run's status in the words of the tools; NULL with talk->failed. */
static const char *
status_of(struct talk *talk, const char *path)
{
	static const char *const words[][2] = { { "pending", "running" },
		{ "running", "running" }, { "success", "success" }, { "error", "error" },
		{ "timeout", "error" }, { "interrupted", "interrupted" } };
	const char *status;
	size_t i;

	if (ask_server(talk, "GET", path, NULL) == -1)
		return NULL;
	status = value_get_text(talk->answer, "status");
	for (i = 0; status != NULL && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], status) == 0)
			return words[i][1];
	fail_with(talk, "the server's answer is not that of a LangGraph server");
	return NULL;
}

static const struct value *
last_text(struct talk *talk)
{
	const struct value *messages =
	    value_get(value_get(talk->answer, "values"), "messages");
	size_t count = value_size(messages), size;
	const struct value *content =
	    count == 0 ? NULL : value_get(value_at(messages, count - 1), "content");
	const char *text = value_text(content);

	if (content == NULL)
		return value_str(talk->arena, "Completed with no output messages.");
	if (text == NULL)
		text = json_text(talk->arena, content);
	size = utf8_prefix(text, strlen(text), TOOL_OUTPUT_BYTES_MAX);
	return value_str(talk->arena, arena_copy(talk->arena, text, size));
}

static const struct value *
check(struct talk *talk, const char *thread, const char *path)
{
	struct arena *arena = talk->arena;
	const char *status = status_of(talk, path);
	const struct value *seen;

	if (status == NULL)
		return talk->failed;
	seen = value_map(arena, "status", value_str(arena, status), NULL);
	if (strcmp(status, "error") == 0)
		return value_map_with(arena, seen, "fault",
		    value_map(arena, "message",
			value_str(arena, "the agent encountered an error"), NULL));
	if (strcmp(status, "success") != 0)
		return seen;
	if (ask_server(talk, "GET", arena_printf(arena, "/threads/%s/state", thread),
		NULL) == -1)
		return talk->failed;
	return value_map_with(arena, seen, "content", last_text(talk));
}

static const struct value *
cancel(struct talk *talk, const char *thread, const char *run, const char *path)
{
	const char *status = status_of(talk, path);

	if (status == NULL)
		return talk->failed;
	if (strcmp(status, "success") == 0 || strcmp(status, "error") == 0)
		return told(talk, thread, run, status);
	ask_server(talk, "POST",
	    arena_printf(talk->arena, "%s/cancel?wait=0&action=interrupt", path), NULL);
	return told(talk, thread, run, "cancelled");
}

const struct value *
async_server_ask(
    struct tool_request *request, const struct value *entry, const struct value *ask)
{
	struct arena *arena = tool_arena(request);
	const char *url = value_get_text(entry, "url");
	const char *thread = value_get_text(ask, "thread");
	const char *run = value_get_text(ask, "run"), *path;
	struct talk talk = {
		.request = request, .arena = arena, .server = find_server(url)
	};

	if (talk.server == NULL) {
		fail_with(
		    &talk, arena_printf(arena,
			       "%s is not among the servers that this worker may call: "
			       "worker-tools --agent-server",
			       url));
		return talk.failed;
	}
	fill_lines(&talk, value_get(entry, "headers"));
	if (value_text_is(value_get(ask, "op"), "start"))
		return start(&talk, entry, ask);
	if (!is_id(thread) || (run != NULL && !is_id(run)))
		return told(&talk, "", NULL, "");
	if (value_text_is(value_get(ask, "op"), "update"))
		return begin_run(&talk, entry, ask, thread, "interrupt");
	path = arena_printf(arena, "/threads/%s/runs/%s", thread, run);
	return value_text_is(value_get(ask, "op"), "cancel")
		   ? cancel(&talk, thread, run, path)
		   : check(&talk, thread, path);
}
