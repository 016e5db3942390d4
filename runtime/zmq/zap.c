#include "zap.h"

#include <stdlib.h>
#include <string.h>

#include "key_file.h"
#include "log.h"
#include "memory.h"
#include "socket.h"

#define ENDPOINT "inproc://zeromq.zap.01"
#define DOMAIN_BYTES_MAX 32u
#define ADDRESS_BYTES_MAX 64u
#define KEY_BYTES 32u
#define SAID_MAX 10u /* refusals in the log, in each minute */
#define SAID_MS 60000u

/* Frames of a request, in this order (RFC 27). */
enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, FRAMES };

struct zap {
	struct loop *loop;
	struct socket *socket;
	zap_fn *may_connect;
	void *arg;
	uint64_t said_ms; /* begin of the minute */
	unsigned said;
};

static bool
frame_is(const struct parts *request, unsigned index, const char *text)
{
	size_t size = strlen(text);

	return parts_size(request, index) == size &&
	       memcmp(parts_data(request, index), text, size) == 0;
}

static void
copy_text(const struct parts *request, unsigned index, char *text, size_t room)
{
	size_t size = parts_size(request, index);

	if (size > room - 1)
		size = room - 1;
	memcpy(text, parts_data(request, index), size);
	text[size] = '\0';
}

/* Strangers may knock as often as they like: the log does not grow by that. */
static void
tell_refused(struct zap *zap, const struct parts *request, const char *key)
{
	uint64_t now_ms = loop_now_ms(zap->loop);
	char address[ADDRESS_BYTES_MAX], domain[DOMAIN_BYTES_MAX];

	if (now_ms >= zap->said_ms + SAID_MS) {
		zap->said_ms = now_ms;
		zap->said = 0;
	}
	if (zap->said++ >= SAID_MAX)
		return;
	copy_text(request, ADDRESS, address, sizeof address);
	copy_text(request, DOMAIN, domain, sizeof domain);
	log_warnx("key refused key=%s from=%s for=%s%s", key, address, domain,
	    zap->said == SAID_MAX ? "; no more of these in this minute" : "");
}

static bool
is_request(const struct parts *request, bool truncated)
{
	return !truncated && request->count == FRAMES &&
	       frame_is(request, VERSION, "1.0") &&
	       frame_is(request, MECHANISM, "CURVE") &&
	       parts_size(request, KEY) == KEY_BYTES;
}

/* key_r: of the peer that is let in. */
static bool
decide(struct zap *zap, const struct parts *request, bool truncated,
    char key_r[KEY_TEXT_BYTES])
{
	char domain[DOMAIN_BYTES_MAX];

	if (!is_request(request, truncated) ||
	    zmq_z85_encode(key_r, parts_data(request, KEY), KEY_BYTES) == NULL)
		return false;
	copy_text(request, DOMAIN, domain, sizeof domain);
	if (zap->may_connect(zap->arg, domain, key_r))
		return true;
	tell_refused(zap, request, key_r);
	return false;
}

static void
add_text(struct parts *parts, const char *text)
{
	parts_add(parts, text, strlen(text));
}

static void
on_request(void *arg, struct parts *request, bool truncated)
{
	struct zap *zap = arg;
	struct parts reply = { .count = 0 };
	char key[KEY_TEXT_BYTES];
	bool allowed = decide(zap, request, truncated, key);

	add_text(&reply, "1.0");
	if (request->count > REQUEST_ID)
		parts_add_frame(&reply, request, REQUEST_ID);
	else
		add_text(&reply, "");
	add_text(&reply, allowed ? "200" : "400");
	add_text(&reply, allowed ? "OK" : "this key is not allowed");
	add_text(&reply, allowed ? key : "");
	add_text(&reply, "");
	/* Who asked may be gone by now: then there is nobody to answer. */
	socket_send(zap->socket, &reply);
}

struct zap *
zap_new(struct loop *loop, zap_fn *may_connect, void *arg, const char **error_r)
{
	struct zap *zap = xcalloc(1, sizeof *zap);

	zap->loop = loop;
	zap->may_connect = may_connect;
	zap->arg = arg;
	zap->socket = socket_zap(loop, ENDPOINT, on_request, zap, error_r);
	if (zap->socket != NULL)
		return zap;
	free(zap);
	return NULL;
}

void
zap_destroy(struct zap **zap_p)
{
	struct zap *zap = *zap_p;

	if (zap == NULL)
		return;
	*zap_p = NULL;
	socket_close(&zap->socket, 0);
	free(zap);
}
