#include "serve_bench.h"

#include <arpa/inet.h>
#include <check.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "../../cli/command.h"
#include "json.h"
#include "serve_check.h"

#define POLL_MS 10

struct serve_bench serve_bench;

static const char agents_text[] =
    "name: talker\n"
    "description: notes something, and then talks\n"
    "model: scripted:t\n"
    "tools: [note]\n"
    "script:\n"
    "  t:\n"
    "    - {content: I note it., delay_ms: 60, tool_calls: [{id: n, name: note, args: "
    "{text: hello}}]}\n"
    "    - {content: '" SERVE_TALK "', delay_ms: 600}\n"
    "---\n"
    "name: teller\n"
    "model: scripted:t\n"
    "tools: [tell]\n"
    "middleware:\n"
    "  - lua:\n"
    "      code: |\n"
    "        function wrap_tool_call(request, handler)\n"
    "          local result = handler(request)\n"
    "          request.runtime.stream('tool')\n"
    "          return result\n"
    "        end\n"
    "        function before_model(state, runtime)\n"
    "          runtime.stream('before')\n"
    "        end\n"
    "        function wrap_model_call(request, handler)\n"
    "          request.runtime.stream('model')\n"
    "          return handler(request)\n"
    "        end\n"
    "script:\n"
    "  t:\n"
    "    - {content: '', tool_calls: [{id: n, name: tell, args: {path: end}}]}\n"
    "    - {content: It is told., delay_ms: 200}\n"
    "---\n"
    "name: approver\n"
    "model: scripted:a\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {note: true}}\n"
    "script:\n"
    "  a:\n"
    "    - {content: May I?, tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - {content: It is done.}\n";

void
serve_pause(void)
{
	nanosleep(&(const struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

const char *
serve_text(const char *format, ...)
{
	va_list args;
	char *text, *at;

	va_start(args, format);
	at = text =
	    (char *)(uintptr_t)arena_vprintf(serve_bench.fleet.arena, format, args);
	va_end(args);
	while ((at = strchr(at, '\'')) != NULL)
		*at = '"';
	return text;
}

/* --- the server -------------------------------------------------------------------------- */

const char *
serve_start(struct cli_job **server_r, const char *const *flags)
{
	const char *argv[16] = { "serve", "--listen", "127.0.0.1:0" }, *begin = NULL;
	size_t count = 3;
	int looks;

	for (; flags != NULL && *flags != NULL; flags++)
		argv[count++] = *flags;
	*server_r = cli_start(&serve_bench.fleet.flotilla, NULL, argv);
	for (looks = 0; looks < SERVE_LOOKS; looks++) {
		begin = strstr(cli_out(*server_r), "http://");
		if (begin != NULL && strchr(begin, ';') != NULL)
			return arena_copy(
			    serve_bench.fleet.arena, begin, strcspn(begin, ",;"));
		serve_pause();
	}
	ck_abort_msg("it never listened: %s", cli_err(*server_r));
	return NULL;
}

void
serve_stop(struct cli_job **server_p)
{
	struct said said;

	cli_signal(*server_p, SIGTERM);
	said = cli_end(server_p);
	ck_assert_msg(said.status == STATUS_OK, "status %d: %s", said.status, said.err);
}

void
serve_open_with(const char *const *flags)
{
	struct said said;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	fleet_up_start_with(&serve_bench.fleet, "1", flags);
	fleet_up_write(&serve_bench.fleet, "more.yaml", agents_text);
	said = CLI(&serve_bench.fleet.flotilla, "agents", "apply", "more.yaml");
	ck_assert_msg(said.status == STATUS_OK, "%s", said.err);
	serve_bench.url = serve_start(&serve_bench.server, NULL);
}

void
serve_open(void)
{
	serve_open_with(NULL);
}

void
serve_close(void)
{
	serve_stop(&serve_bench.server);
	fleet_up_stop(&serve_bench.fleet);
}

int
serve_dial(const char *url, const char *head, const char *body)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *text = serve_text("%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
				      "%zu\r\n\r\n%s",
	    head, strlen(body), body);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* The kernel takes little for who does not read. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 4096 }, sizeof(int));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(
	    send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

/* --- asking ------------------------------------------------------------------------------ */

/* A question under way. */
struct asking {
	const struct serve_question *question;
	FILE *heads, *bodies;
	char *head, *body; /* what has come; current after a flush */
	size_t head_size, body_size;
	size_t shown; /* of the body, as frames */
	long status;
	CURL *curl;
};

/* The rest of the line in block that begins so, or NULL. */
static const char *
line_of(const char *block, const char *begin)
{
	size_t size = strlen(begin);

	for (; *block != '\0'; block += strcspn(block, "\n"), block += *block == '\n')
		if (strncmp(block, begin, size) == 0)
			return arena_copy(serve_bench.fleet.arena, block + size,
			    strcspn(block + size, "\n"));
	return NULL;
}

/* Gives on the frames that are there whole. Returns false: it is enough. */
static bool
show_frames(struct asking *asking)
{
	struct arena *arena = serve_bench.fleet.arena;
	const char *begin, *end, *block;

	fflush(asking->bodies);
	while (
	    begin = asking->body + asking->shown, (end = strstr(begin, "\n\n")) != NULL) {
		struct serve_frame frame;

		block = arena_copy(arena, begin, (size_t)(end - begin));
		asking->shown += (size_t)(end - begin) + 2;
		frame = (struct serve_frame){ line_of(block, "event: "),
			line_of(block, "id: "), line_of(block, "data: "), NULL };
		if (frame.event == NULL && frame.text == NULL)
			continue; /* a heartbeat */
		/* Agent2Agent's have data alone. */
		ck_assert_msg(
		    frame.text != NULL && (frame.event == NULL) == (frame.id == NULL),
		    "%s", block);
		frame.data = fleet_up_json(&serve_bench.fleet, frame.text);
		if (!asking->question->on_frame(asking->question->arg, &frame))
			return false;
	}
	return true;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct asking *asking = arg;

	fwrite(bytes, size, count, asking->bodies);
	curl_easy_getinfo(asking->curl, CURLINFO_RESPONSE_CODE, &asking->status);
	if (asking->question->on_frame != NULL && asking->status == 200 &&
	    !show_frames(asking))
		return 0;
	return count;
}

static size_t
on_head(char *bytes, size_t size, size_t count, void *arg)
{
	return fwrite(bytes, size, count, ((struct asking *)arg)->heads);
}

static struct curl_slist *
headers_of(const struct serve_question *question)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	size_t i;

	for (i = 0; i < 4 && question->headers[i] != NULL; i++)
		list = curl_slist_append(list, question->headers[i]);
	return list;
}

static void
set_up(CURL *curl, struct asking *asking)
{
	const struct serve_question *question = asking->question;

	curl_easy_setopt(curl, CURLOPT_URL,
	    arena_printf(serve_bench.fleet.arena, "%s%s",
		question->url != NULL ? question->url : serve_bench.url, question->path));
	if (question->body != NULL)
		curl_easy_setopt(
		    curl, CURLOPT_COPYPOSTFIELDS, serve_text("%s", question->body));
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, question->method);
	if (question->method != NULL && strcmp(question->method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, asking);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, asking);
}

static struct serve_answer
ask(struct serve_question question)
{
	struct arena *arena = serve_bench.fleet.arena;
	struct asking asking = { .question = &question, .curl = curl_easy_init() };
	struct curl_slist *headers = headers_of(&question);
	struct serve_answer answer = { 0 };
	const char *error;

	asking.heads = open_memstream(&asking.head, &asking.head_size);
	asking.bodies = open_memstream(&asking.body, &asking.body_size);
	set_up(asking.curl, &asking);
	curl_easy_setopt(asking.curl, CURLOPT_HTTPHEADER, headers);
	answer.is_whole = curl_easy_perform(asking.curl) == CURLE_OK;
	curl_easy_getinfo(asking.curl, CURLINFO_RESPONSE_CODE, &answer.status);
	fclose(asking.heads);
	fclose(asking.bodies);
	answer.head = arena_strdup(arena, asking.head);
	answer.body = arena_strdup(arena, asking.body);
	answer.json = json_parse(arena, answer.body, strlen(answer.body), &error);
	free(asking.head);
	free(asking.body);
	curl_slist_free_all(headers);
	curl_easy_cleanup(asking.curl);
	return answer;
}

static bool
names_fields(const struct serve_question *question)
{
	return strstr(question->path, "select=") != NULL ||
	       (question->body != NULL && strstr(question->body, "select") != NULL);
}

/* What comes whole, and with all of its fields, is as the server says of itself. */
static void
check_answer(const struct serve_question *question, const struct serve_answer *answer)
{
	static const struct value *document; /* one test's: each is a process */
	const char *method = question->method, *body = question->body, *error;

	if (document == NULL)
		document = ask((struct serve_question){ .path = "/openapi.json" }).json;
	if (method == NULL)
		method = body != NULL ? "POST" : "GET";
	if (body != NULL && answer->status / 100 == 2) {
		body = serve_text("%s", body);
		serve_check_body(serve_bench.fleet.arena, document, method,
		    question->path,
		    json_parse(serve_bench.fleet.arena, body, strlen(body), &error));
	}
	if (answer->is_whole && question->on_frame == NULL && !names_fields(question))
		serve_check(serve_bench.fleet.arena, document, method, question->path,
		    answer->status, answer->json);
}

struct serve_answer
serve_ask(struct serve_question question)
{
	struct serve_answer answer = ask(question);

	check_answer(&question, &answer);
	return answer;
}

static const struct value *
require(const struct serve_answer *answer, const char *path, long status)
{
	ck_assert_msg(answer->is_whole && answer->status == status,
	    "%s: %ld, not %ld: %.999s", path, answer->status, status, answer->body);
	return answer->json;
}

const struct value *
serve_get(const char *path, long status)
{
	struct serve_answer answer = ASK(.path = path);

	return require(&answer, path, status);
}

const struct value *
serve_post(const char *path, const char *body, long status)
{
	struct serve_answer answer = ASK(.path = path, .body = body);

	return require(&answer, path, status);
}

const char *
serve_header(const struct serve_answer *answer, const char *name)
{
	size_t size = strlen(name);
	const char *line;

	for (line = answer->head; *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n')
		if (strncasecmp(line, name, size) == 0 && line[size] == ':')
			return arena_copy(serve_bench.fleet.arena, line + size + 2,
			    strcspn(line + size + 2, "\r\n"));
	return NULL;
}

/* --- threads and runs -------------------------------------------------------------------- */

const char *
serve_thread(void)
{
	return value_get_text(serve_post("/threads", "{}", 200), "thread_id");
}

int64_t
serve_thread_count(void)
{
	const struct value *count = serve_post("/threads/count", "{}", 200);

	ck_assert(value_is(count, VALUE_INT));
	return count->integer;
}

const char *
serve_run(const char *thread, const char *agent, const char *keys)
{
	return value_get_text(
	    serve_post(serve_text("/threads/%s/runs", thread),
		serve_text("{'assistant_id': '%s', 'input': {'messages': [{'role': "
			   "'user', 'content': 'Hi'}]}%s%s}",
		    agent, *keys != '\0' ? ", " : "", keys),
		200),
	    "run_id");
}

void
serve_run_wait(const char *thread, const char *run, const char *status)
{
	const char *path = serve_text("/threads/%s/runs/%s", thread, run);
	const struct value *last = NULL;
	int looks;

	for (looks = 0; looks < SERVE_LOOKS; looks++) {
		last = value_get(serve_get(path, 200), "status");
		if (value_text_is(last, status))
			return;
		serve_pause();
	}
	ck_abort_msg("the run was never %s, but %s", status, value_text(last));
}

const char *
serve_run_end(const char *thread, const char *run)
{
	serve_get(serve_text("/threads/%s/runs/%s/join", thread, run), 200);
	return value_get_text(
	    serve_get(serve_text("/threads/%s/runs/%s", thread, run), 200), "status");
}

const char *
serve_last_text(const struct value *values)
{
	const struct value *messages = value_get(values, "messages");

	return value_get_text(value_at(messages, value_size(messages) - 1), "content");
}
