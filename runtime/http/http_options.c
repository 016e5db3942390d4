/* A request as libcurl's options, and the callbacks among them. */
#include "http_transfer.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "bounds.h"

#define CONNECT_TIMEOUT_MS 10000u
/* Body that a fiber has not taken yet: beyond it curl stops reading. */
#define INBOX_BYTES_MAX (256u << 10)
/* Servers close idle connections, many after 60 s: not to be in the middle of it. */
#define CONNECTION_IDLE_S_MAX 50L
#define KEEPALIVE_S 15L
#define READ_BYTES 1024L /* curl's own are 16384, of which an answer needs few */

/* --- what curl calls ----------------------------------------------------------------- */

/* curl sends a request again when a kept connection turns out to be closed: it cannot know
 * whether the server has acted on it. This is called before each sending; the second one
 * must not be. */
static int
before_sending(void *arg, char *to, char *from, int to_port, int from_port)
{
	struct transfer *transfer = arg;

	(void)to, (void)from, (void)to_port, (void)from_port;
	if (transfer->was_sent)
		return CURL_PREREQFUNC_ABORT;
	transfer->was_sent = true;
	return CURL_PREREQFUNC_OK;
}

static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transfer *transfer = arg;
	const struct http_request *request = transfer->request;

	(void)purpose;
	if (transfer->was_sent) /* to send again: no need to connect first */
		return CURL_SOCKET_BAD;
	if (request->on_address != NULL &&
	    request->on_address(request->arg, &address->addr) == -1) {
		transfer->is_refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(
	    address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* curl closes sockets of connections whose request is long gone. */
static int
on_close(void *arg, curl_socket_t fd)
{
	struct http *http = arg;

	http_watch_end(http->watches, fd);
	return close(fd);
}

static bool
is_status_line(const char *line, size_t size)
{
	return size >= 5 && memcmp(line, "HTTP/", 5) == 0;
}

/* Gets a line, at times several heads: of 100 Continue, then of the answer; behind the body
 * trailers, which are of no head. curl takes a head that was cut for a whole one, and does not
 * bound it. */
static size_t
on_head(char *line, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;

	(void)one;
	if (!transfer->has_head || is_status_line(line, size))
		transfer->has_head = line[0] == '\r' || line[0] == '\n';
	transfer->head_bytes += size;
	return transfer->head_bytes <= HTTP_HEAD_BYTES_MAX ? size : 0;
}

/* Looks at the status when the body begins. */
static void
begin_body(struct transfer *transfer)
{
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	transfer->is_streaming =
	    transfer->request->on_data != NULL && status >= 200 && status < 300;
}

static size_t
on_body(char *data, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;

	(void)one;
	if (transfer->heard_ms == 0) {
		begin_body(transfer);
		fiber_wake(transfer->fiber); /* from now on its deadline is another */
	}
	transfer->heard_ms = loop_now_ms(transfer->http->loop);
	if (size > transfer->body_bytes_max - transfer->body_bytes)
		return 0; /* CURLE_WRITE_ERROR */
	if (transfer->is_streaming && transfer->body.size > 0 &&
	    transfer->body.size + size > INBOX_BYTES_MAX) {
		transfer->is_paused = true;
		return CURL_WRITEFUNC_PAUSE; /* it comes again */
	}
	transfer->body_bytes += size;
	packet_append(&transfer->body, data, size);
	if (transfer->is_streaming)
		fiber_wake(transfer->fiber);
	return size;
}

/* --- what is to be checked first ------------------------------------------------------ */

static bool
has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

/* Nobody smuggles a line into the head of a request. */
static int
check_head(struct transfer *transfer)
{
	const char *const *line = transfer->request->headers;

	if (has_control(transfer->request->method)) {
		http_fail(transfer, HTTP_CONNECTION, "bad method");
		return -1;
	}
	for (; line != NULL && *line != NULL; line++) {
		if (has_control(*line)) {
			http_fail(transfer, HTTP_CONNECTION,
			    "a header has a control character");
			return -1;
		}
	}
	return 0;
}

static int
find_target(struct transfer *transfer)
{
	const char *error;

	transfer->target = http_target_hold(
	    transfer->http->targets, transfer->arena, transfer->request->url, &error);
	if (transfer->target != NULL)
		return 0;
	http_fail(transfer, HTTP_CONNECTION, error);
	return -1;
}

static uint64_t
connect_timeout_ms(const struct http_request *request)
{
	uint64_t ms = request->connect_timeout_ms;

	if (ms == 0)
		ms = CONNECT_TIMEOUT_MS;
	return request->timeout_ms != 0 && request->timeout_ms < ms ? request->timeout_ms
								    : ms;
}

/* Finds the host's addresses, unless curl needs no help or a proxy has to. */
static int
resolve(struct transfer *transfer)
{
	const struct url *url = &transfer->target->url;
	const char *text = NULL;

	if (transfer->http->resolver == NULL || url->is_address || url->is_loopback)
		return 0;
	switch (resolver_find(transfer->http->resolver, transfer->arena, url->host,
	    connect_timeout_ms(transfer->request), &text)) {
	case RESOLVER_FOUND:
		/* '+': it ages. Without, the shared cache keeps each host for ever, and
		 * models choose hosts. */
		transfer->resolved =
		    curl_slist_append(NULL, arena_printf(transfer->arena, "+%s:%u:%s",
						url->host, url->port, text));
		return 0;
	case RESOLVER_FAILED:
		http_fail(transfer, HTTP_CONNECTION,
		    arena_printf(transfer->arena, "cannot find %s: %s", url->host, text));
		return -1;
	case RESOLVER_TIMEOUT:
		http_fail(transfer, HTTP_TIMEOUT,
		    "looking for the host's address took too long");
		return -1;
	case RESOLVER_CANCELLED:
		http_fail(transfer, HTTP_CANCELLED, "cancelled");
		return -1;
	}
	return -1;
}

int
http_prepare(struct transfer *transfer)
{
	if (check_head(transfer) == -1 || find_target(transfer) == -1)
		return -1;
	return resolve(transfer);
}

/* --- options -------------------------------------------------------------------------- */

static void
add_header(struct transfer *transfer, const char *line)
{
	transfer->headers = curl_slist_append(transfer->headers, line);
	assert(transfer->headers != NULL); /* out of memory */
}

static void
set_head(struct transfer *transfer)
{
	const char *const *line = transfer->request->headers;
	bool has_type = false;

	for (; line != NULL && *line != NULL; line++) {
		add_header(transfer, *line);
		has_type = has_type || strncasecmp(*line, "content-type:", 13) == 0;
	}
	add_header(transfer, "Expect:"); /* no waiting for 100 Continue */
	if (!has_type)
		add_header(transfer, "Content-Type:"); /* curl would say it is a form */
	curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

static void
set_method(struct transfer *transfer)
{
	const struct http_request *request = transfer->request;
	CURL *easy = transfer->easy;
	bool takes_body = strcmp(request->method, "POST") == 0 ||
			  strcmp(request->method, "PUT") == 0 ||
			  strcmp(request->method, "PATCH") == 0;

	if (request->body_size > 0 || takes_body) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(
		    easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
		    request->body_size > 0 ? request->body : "");
	} else if (strcmp(request->method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void
set_connection(struct transfer *transfer)
{
	const struct http_request *request = transfer->request;
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_SHARE, transfer->http->share);
	curl_easy_setopt(
	    easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_timeout_ms(request));
	curl_easy_setopt(easy, CURLOPT_RESOLVE, transfer->resolved);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, transfer->http);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, CONNECTION_IDLE_S_MAX);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	/* Each transfer holds one from its begin to its end. */
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, READ_BYTES);
	/* Do not wait for the thread of a lookup (there is one with a proxy alone). */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	if (transfer->http->ca_file != NULL)
		curl_easy_setopt(easy, CURLOPT_CAINFO, transfer->http->ca_file);
	if (transfer->target->url.is_loopback || request->on_address != NULL)
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (request->on_address != NULL) {
		/* Each address is looked at, none was let in by another's rule. */
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
}

void
http_set_options(struct transfer *transfer)
{
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* The text, too: else curl makes it from the parts. */
	curl_easy_setopt(easy, CURLOPT_CURLU, transfer->target->curl);
	curl_easy_setopt(easy, CURLOPT_URL, transfer->target->text);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	/* A connection each: of h2, curl 7.88 takes some streams that were cut for whole. */
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(
	    easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->body_bytes_max);
	set_method(transfer);
	set_head(transfer);
	set_connection(transfer);
}
