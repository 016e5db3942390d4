#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <curl/curl.h>
#include <zmq.h>

#include "floor.h"

#define EVENTS_MAX 64
#define BODY_HEAD                                                                        \
	"{\"model\":\"bench\",\"messages\":[{\"role\":\"system\",\"content\":\"You "     \
	"answer "                                                                        \
	"questions, and work numbers out with calculate.\"},"
#define BODY_TAIL                                                                        \
	"],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"calculate\","      \
	"\"description\":\"Works out an arithmetic "                                     \
	"expression.\",\"parameters\":{\"type\":"                                        \
	"\"object\",\"properties\":{\"expression\":{\"type\":\"string\"}},\"required\":" \
	"["                                                                              \
	"\"expression\"]}}}]}"

struct bytes {
	char *data;
	size_t size, room;
};

/* A transfer; used again, with its connection's buffers. */
struct transfer {
	struct transfer *next; /* of those that are idle */
	CURL *easy;
	struct floor_envelope envelope;
	struct bytes asked, answered;
};

struct model_worker {
	void *socket;
	CURLM *multi;
	int epoll_fd, socket_fd;
	long timeout_ms; /* what curl wants; -1: nothing */
	const char *url;
	struct curl_slist *head;
	struct transfer *idle;
};

static void
append(struct bytes *bytes, const void *data, size_t size)
{
	if (bytes->size + size >= bytes->room) {
		bytes->room = (bytes->size + size) * 2;
		bytes->data = realloc(bytes->data, bytes->room);
		if (bytes->data == NULL)
			err(EXIT_FAILURE, "memory");
	}
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	bytes->data[bytes->size] = '\0';
}

/* --- curl's side ----------------------------------------------------------------------- */

static size_t
on_data(char *data, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;

	append(&transfer->answered, data, one * size);
	return one * size;
}

static int
on_interest(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct model_worker *worker = arg;
	struct epoll_event event = { .data.fd = fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	if (epoll_ctl(worker->epoll_fd, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd,
		&event) == -1)
		err(EXIT_FAILURE, "epoll_ctl");
	curl_multi_assign(worker->multi, fd, worker);
	return 0;
}

static int
on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct model_worker *worker = arg;

	(void)multi;
	worker->timeout_ms = timeout_ms;
	return 0;
}

static struct transfer *
transfer_new(struct model_worker *worker)
{
	struct transfer *transfer = calloc(1, sizeof *transfer);

	if (transfer == NULL || (transfer->easy = curl_easy_init()) == NULL)
		errx(EXIT_FAILURE, "no transfer");
	curl_easy_setopt(transfer->easy, CURLOPT_URL, worker->url);
	curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, worker->head);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	return transfer;
}

/* --- calls ----------------------------------------------------------------------------- */

static void
start(struct model_worker *worker, const char *message, size_t size)
{
	struct transfer *transfer = worker->idle;

	if (transfer != NULL)
		worker->idle = transfer->next;
	else
		transfer = transfer_new(worker);
	memcpy(&transfer->envelope, message, sizeof transfer->envelope);
	transfer->asked.size = transfer->answered.size = 0;
	append(&transfer->asked, BODY_HEAD, sizeof BODY_HEAD - 1);
	append(&transfer->asked, message + sizeof transfer->envelope,
	    size - sizeof transfer->envelope);
	append(&transfer->asked, BODY_TAIL, sizeof BODY_TAIL - 1);
	curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->asked.data);
	curl_easy_setopt(
	    transfer->easy, CURLOPT_POSTFIELDSIZE, (long)transfer->asked.size);
	curl_multi_add_handle(worker->multi, transfer->easy);
}

/* Returns the size of the JSON object at text; 0: it does not end. */
static size_t
object_size(const char *text)
{
	const char *at;
	bool quoted = false;
	int depth = 0;

	for (at = text; *at != '\0'; at++) {
		if (*at == '\\' && at[1] != '\0')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && *at == '{')
			depth++;
		else if (!quoted && *at == '}' && --depth == 0)
			return (size_t)(at - text) + 1;
	}
	return 0;
}

static void
finish(struct model_worker *worker, struct transfer *transfer, CURLcode code)
{
	static const char key[] = "\"message\":";
	const char *message =
	    transfer->answered.size > 0 ? strstr(transfer->answered.data, key) : NULL;
	size_t size = message == NULL ? 0 : object_size(message + sizeof key - 1);

	if (code != CURLE_OK || size == 0)
		errx(EXIT_FAILURE, "the model has no answer: %s",
		    curl_easy_strerror(code));
	transfer->envelope.kind = FLOOR_RESULT;
	floor_send(worker->socket, &transfer->envelope, message + sizeof key - 1, size);
	curl_multi_remove_handle(worker->multi, transfer->easy);
	transfer->next = worker->idle;
	worker->idle = transfer;
}

static void
finish_all(struct model_worker *worker)
{
	CURLMsg *said;
	int left;

	while ((said = curl_multi_info_read(worker->multi, &left)) != NULL) {
		struct transfer *transfer;

		curl_easy_getinfo(said->easy_handle, CURLINFO_PRIVATE, &transfer);
		finish(worker, transfer, said->data.result);
	}
}

/* --- the loop -------------------------------------------------------------------------- */

static void
start_all(struct model_worker *worker)
{
	zmq_msg_t message;

	zmq_msg_init(&message);
	while (zmq_msg_recv(&message, worker->socket, ZMQ_DONTWAIT) != -1)
		start(worker, zmq_msg_data(&message), zmq_msg_size(&message));
	zmq_msg_close(&message);
}

/* What has been sent may have swallowed the descriptor's sign of a new message: the socket
 * is read empty before each wait. */
static void
start_and_drive(struct model_worker *worker)
{
	int running;

	start_all(worker);
	while (worker->timeout_ms == 0) {
		worker->timeout_ms = -1;
		curl_multi_socket_action(worker->multi, CURL_SOCKET_TIMEOUT, 0, &running);
		finish_all(worker);
		start_all(worker);
	}
}

static void
serve(struct model_worker *worker)
{
	struct epoll_event events[EVENTS_MAX];
	int running, ready, i;

	for (;;) {
		start_and_drive(worker);
		ready = epoll_wait(
		    worker->epoll_fd, events, EVENTS_MAX, (int)worker->timeout_ms);
		if (ready == 0)
			worker->timeout_ms = 0;
		for (i = 0; i < ready; i++)
			if (events[i].data.fd != worker->socket_fd)
				curl_multi_socket_action(
				    worker->multi, events[i].data.fd, 0, &running);
		finish_all(worker);
	}
}

int
floor_model_worker(const char *endpoint, const char *url)
{
	struct model_worker worker = { .url = url, .timeout_ms = -1 };
	struct epoll_event event = { .events = EPOLLIN };
	size_t size = sizeof worker.socket_fd;

	worker.socket = floor_dealer(endpoint, "modl");
	worker.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (zmq_getsockopt(worker.socket, ZMQ_FD, &worker.socket_fd, &size) == -1)
		errx(EXIT_FAILURE, "no descriptor: %s", zmq_strerror(zmq_errno()));
	event.data.fd = worker.socket_fd;
	if (epoll_ctl(worker.epoll_fd, EPOLL_CTL_ADD, worker.socket_fd, &event) == -1)
		err(EXIT_FAILURE, "epoll_ctl");
	curl_global_init(CURL_GLOBAL_DEFAULT);
	worker.head = curl_slist_append(NULL, "Content-Type: application/json");
	worker.head = curl_slist_append(worker.head, "Authorization: Bearer bench");
	worker.multi = curl_multi_init();
	curl_multi_setopt(worker.multi, CURLMOPT_SOCKETFUNCTION, on_interest);
	curl_multi_setopt(worker.multi, CURLMOPT_SOCKETDATA, &worker);
	curl_multi_setopt(worker.multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(worker.multi, CURLMOPT_TIMERDATA, &worker);
	curl_multi_setopt(worker.multi, CURLMOPT_MAXCONNECTS, 10000L);
	floor_hello(worker.socket, FLOOR_MODEL);
	serve(&worker);
	return EXIT_SUCCESS;
}
