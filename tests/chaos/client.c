#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "fiber.h"
#include "http.h"
#include "json.h"
#include "memory.h"

#define CONNECT_MS 2000u
#define SILENCE_MS 12000u /* a server says something every five seconds */
#define AGAIN_MS 300u
#define FRAMES_EACH 29u /* then the client loses interest, and comes back */

struct client {
	struct fleet *fleet;
	struct http *http;
	unsigned turn; /* which server is asked next */
	unsigned long frames;
	unsigned long asked, cuts;
};

/* What was heard of a message. */
struct client_text {
	const char *id;
	struct packet text;
};

struct client *
client_new(struct fleet *fleet)
{
	struct client *client = xcalloc(1, sizeof *client);

	client->fleet = fleet;
	client->http = http_new(fleet->loop);
	return client;
}

void
client_destroy(struct client **client_p)
{
	struct client *client = *client_p;

	if (client == NULL)
		return;
	*client_p = NULL;
	http_destroy(&client->http);
	free(client);
}

unsigned long
client_asked(const struct client *client)
{
	return client->asked;
}

unsigned long
client_cuts(const struct client *client)
{
	return client->cuts;
}

void
client_run_init(struct client_run *run, const char *thread, const char *agent,
    const char *key, const char *what, bool streams)
{
	*run = (struct client_run){ .thread = thread,
		.agent = agent,
		.key = key,
		.what = what,
		.streams = streams,
		.arena = arena_new() };
}

void
client_run_release(struct client_run *run)
{
	size_t i;

	for (i = 0; i < run->text_count; i++)
		packet_release(&run->texts[i].text);
	free(run->texts);
	arena_destroy(&run->arena);
}

/* --- what is shown ------------------------------------------------------------------------ */

static struct client_text *
text_of(struct client_run *run, const char *id)
{
	struct client_text *text;
	size_t i;

	for (i = 0; i < run->text_count; i++)
		if (strcmp(run->texts[i].id, id) == 0)
			return &run->texts[i];
	if (run->text_count == run->text_room) {
		run->text_room = 2 * run->text_room + 8;
		run->texts =
		    xreallocarray(run->texts, run->text_room, sizeof *run->texts);
	}
	text = &run->texts[run->text_count++];
	*text = (struct client_text){ .id = arena_strdup(run->arena, id) };
	return text;
}

static void
keep_values(struct client_run *run, const struct value *values)
{
	/* Of a run there are a dozen. */
	run->values = value_copy(run->arena, values);
}

/* Returns false: the server has lost its Redis, and says so in its last frame. */
static bool
take_frame(struct client_run *run, struct arena *arena, const char *event, const char *id,
    const char *text)
{
	const struct value *data, *message;
	const char *error, *message_id, *content;

	data = json_parse(arena, text, strlen(text), &error);
	if (id != NULL)
		run->last_id = arena_strdup(run->arena, id);
	if (strcmp(event, "error") == 0)
		return !value_text_is(value_get(data, "error"), "ConnectionError");
	if (strcmp(event, "values") == 0)
		keep_values(run, data);
	message = value_at(data, 0);
	message_id = value_get_text(message, "id");
	content = value_get_text(message, "content");
	if (strcmp(event, "messages") == 0 && message_id != NULL && content != NULL &&
	    value_get_text(message, "tool_call_id") == NULL)
		packet_append(&text_of(run, message_id)->text, content, strlen(content));
	return true;
}

/* A stream's bytes on their way to frames. */
struct listening {
	struct client *client;
	struct client_run *run;
	struct packet bytes;
	bool is_lost; /* an error that says: ask again */
};

static void
take_lines(struct listening *listening, char *lines)
{
	struct arena *arena = arena_new();
	const char *event = NULL, *data = NULL, *id = NULL;
	char *line, *rest = lines;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "event: ", 7) == 0)
			event = line + 7;
		else if (strncmp(line, "data: ", 6) == 0)
			data = line + 6;
		else if (strncmp(line, "id: ", 4) == 0)
			id = line + 4;
	}
	if (event != NULL && data != NULL &&
	    !take_frame(listening->run, arena, event, id, data))
		listening->is_lost = true;
	arena_destroy(&arena);
}

/* Frames end with an empty line. */
static int
on_data(void *arg, const char *data, size_t size)
{
	struct listening *listening = arg;
	struct packet *bytes = &listening->bytes;
	char *end;

	packet_append(bytes, data, size);
	while ((end = memmem(bytes->data, bytes->size, "\n\n", 2)) != NULL) {
		size_t length = (size_t)(end + 2 - bytes->data);

		*end = '\0';
		take_lines(listening, bytes->data);
		memmove(bytes->data, bytes->data + length, bytes->size - length);
		bytes->size -= length;
		if (++listening->client->frames % FRAMES_EACH == 0)
			return -1;
	}
	return 0;
}

/* --- asking ------------------------------------------------------------------------------- */

static struct http_response
ask(struct client *client, struct arena *arena, struct client_run *run,
    const char *method, const char *path, const char *body, struct listening *listening)
{
	const char *headers[4] = { "Content-Type: application/json" };
	size_t count = 1;
	struct http_response response;
	struct http_request request = { .method = method,
		.url = arena_printf(arena, "%s%s",
		    fleet_serve(client->fleet,
			client->turn++ % client->fleet->plan->counts[PARTY_SERVE]),
		    path),
		.headers = headers,
		.body = body,
		.body_size = body != NULL ? strlen(body) : 0,
		.connect_timeout_ms = CONNECT_MS,
		.first_byte_timeout_ms = SILENCE_MS,
		.idle_timeout_ms = SILENCE_MS };

	if (body != NULL)
		headers[count++] = arena_printf(arena, "Idempotency-Key: %s", run->key);
	if (listening != NULL) {
		request.on_data = on_data;
		request.arg = listening;
	}
	if (listening != NULL && run->last_id != NULL)
		headers[count++] = arena_printf(arena, "Last-Event-ID: %s", run->last_id);
	headers[count] = NULL;
	http_send(client->http, arena, &request, &response);
	run->asked++;
	client->asked++;
	if (response.failure != HTTP_OK) {
		run->cuts++;
		client->cuts++;
	}
	return response;
}

static const char *
body_of(struct arena *arena, const struct client_run *run)
{
	const char *multitask =
	    run->multitask == NULL
		? ""
		: arena_printf(arena, "\"multitask_strategy\": \"%s\", ", run->multitask);

	return arena_printf(arena,
	    "{\"assistant_id\": \"%s\", %s, %s\"if_not_exists\": \"create\", "
	    "\"stream_mode\": [\"values\"%s]}",
	    run->agent, run->what, multitask, run->streams ? ", \"messages-tuple\"" : "");
}

/* What a server may say that is hurt itself. */
static bool
is_trouble(const struct http_response *response)
{
	return response->failure != HTTP_OK || response->status == 503;
}

const char *
client_begin(struct client *client, struct client_run *run)
{
	for (;;) {
		struct arena *arena = arena_new();
		struct http_response response = ask(client, arena, run, "POST",
		    arena_printf(arena, "/threads/%s/runs", run->thread),
		    body_of(arena, run), NULL);
		const char *error, *id = NULL;

		if (!is_trouble(&response))
			id = value_get_text(
			    json_parse(arena, response.body, response.body_size, &error),
			    "run_id");
		if (id != NULL)
			run->id = arena_strdup(run->arena, id);
		error = id == NULL && !is_trouble(&response)
			    ? arena_printf(
				  run->arena, "%ld %s", response.status, response.body)
			    : NULL;
		arena_destroy(&arena);
		if (id != NULL || error != NULL)
			return error;
		fiber_sleep(AGAIN_MS);
	}
}

long
client_ask(struct client *client, const char *method, const char *path)
{
	struct arena *arena = arena_new();
	struct client_run nobody = { 0 };
	struct http_response response =
	    ask(client, arena, &nobody, method, path, NULL, NULL);
	long status = is_trouble(&response) ? 0 : response.status;

	arena_destroy(&arena);
	return status;
}

long
client_cancel(struct client *client, const char *thread, const char *run, bool back)
{
	struct arena *arena = arena_new();
	const char *path = arena_printf(arena, "/threads/%s/runs/%s/cancel%s", thread,
	    run, back ? "?action=rollback" : "");
	long status;

	while ((status = client_ask(client, "POST", path)) == 0)
		fiber_sleep(AGAIN_MS);
	arena_destroy(&arena);
	return status;
}

/* Returns whether the run's end was told. One that no coordinator has taken yet is not there (404). */
static bool
follow_stream(struct client *client, struct arena *arena, struct client_run *run)
{
	struct listening listening = { .client = client, .run = run };
	struct http_response response = ask(client, arena, run, "GET",
	    arena_printf(arena,
		"/threads/%s/runs/%s/stream?stream_mode=values,messages-tuple",
		run->thread, run->id),
	    NULL, &listening);

	packet_release(&listening.bytes);
	return response.failure == HTTP_OK && response.status == 200 &&
	       !listening.is_lost;
}

/* The same, without pieces: by asking for its outcome, or once more for itself. */
static bool
wait_for(struct client *client, struct arena *arena, struct client_run *run)
{
	bool posts = run->asked % 2 == 0;
	const char *path =
	    posts ? arena_printf(arena, "/threads/%s/runs/wait", run->thread)
		  : arena_printf(arena, "/threads/%s/runs/%s/join", run->thread, run->id);
	struct http_response response = ask(client, arena, run, posts ? "POST" : "GET",
	    path, posts ? body_of(arena, run) : NULL, NULL);
	const struct value *outcome;
	const char *error;

	if (response.failure != HTTP_OK || response.status != 200)
		return false;
	outcome = json_parse(arena, response.body, response.body_size, &error);
	if (outcome == NULL ||
	    value_text_is(
		value_get(value_get(outcome, "__error__"), "error"), "ConnectionError"))
		return false;
	keep_values(run, outcome);
	return true;
}

void
client_follow(struct client *client, struct client_run *run)
{
	for (;;) {
		struct arena *arena = arena_new();

		run->ended =
		    (run->streams ? follow_stream : wait_for)(client, arena, run);
		arena_destroy(&arena);
		if (run->ended || (run->is_gone != NULL && run->is_gone(run->arg)))
			return;
		fiber_sleep(AGAIN_MS);
	}
}

/* --- what must hold ------------------------------------------------------------------------ */

/* The last that was shown of a message: under its id, or, where that answer broke off, under that with a number. */
static const struct client_text *
last_text(const struct client_run *run, const char *id)
{
	const struct client_text *found = NULL;
	size_t size = strlen(id), i;

	for (i = 0; i < run->text_count; i++)
		if (strncmp(run->texts[i].id, id, size) == 0 &&
		    (run->texts[i].id[size] == '\0' || run->texts[i].id[size] == '.'))
			found = &run->texts[i];
	return found;
}

static void
check_text(const struct client_run *run, struct tally *t, const struct value *message)
{
	const char *id = value_get_text(message, "id");
	const char *said = value_get_text(message, "content");
	const struct client_text *text = id != NULL ? last_text(run, id) : NULL;

	tally(t, HOLDS_STREAM,
	    text != NULL && said != NULL && text->text.size == strlen(said) &&
		memcmp(text->text.data != NULL ? text->text.data : "", said,
		    strlen(said)) == 0,
	    "run %s: by HTTP message %s was told as \"%.*s\", and is \"%s\"", run->id, id,
	    text != NULL ? (int)text->text.size : 0, text != NULL ? text->text.data : "",
	    said);
}

void
client_check(const struct client_run *run, struct tally *t, const struct value *messages,
    size_t from, size_t count)
{
	const struct value *told = value_get(run->values, "messages");
	const struct value *last = value_at(told, count - 1);
	size_t i;

	if (!run->ended)
		return;
	tally(t, HOLDS_STREAM,
	    value_size(told) == count &&
		value_equal(value_get(last, "content"),
		    value_get(value_at(messages, count - 1), "content")),
	    "run %s: by HTTP it ended with %zu messages, not with %zu, the last one: %s",
	    run->id, value_size(told), count, value_get_text(last, "content"));
	for (i = from; run->streams && i < count; i++)
		if (chat_is(value_at(messages, i), "ai"))
			check_text(run, t, value_at(messages, i));
}
