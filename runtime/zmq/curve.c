#include "curve.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "key_file.h"

static struct key_pair ours;
static char brokers[KEY_TEXT_BYTES]; /* "": we are one */
static bool is_on;

int
curve_open(const char *key_path, const char *broker_key, const char **error_r)
{
	if (broker_key != NULL && key_public(broker_key, brokers, error_r) == -1)
		return -1;
	if (key_file_load(key_path, &ours, error_r) == -1)
		return -1;
	is_on = true;
	return 0;
}

void
curve_close(void)
{
	explicit_bzero(&ours, sizeof ours);
	explicit_bzero(brokers, sizeof brokers);
	is_on = false;
}

bool
curve_is_on(void)
{
	return is_on;
}

const char *
curve_public_key(void)
{
	return ours.public_key;
}

static int
set_key(void *zmq, int option, const char *key)
{
	return zmq_setsockopt(zmq, option, key, KEY_TEXT_BYTES);
}

static int
secure_server(void *zmq, const char *domain)
{
	int on = 1;

	if (zmq_setsockopt(zmq, ZMQ_CURVE_SERVER, &on, sizeof on) == -1 ||
	    set_key(zmq, ZMQ_CURVE_SECRETKEY, ours.secret_key) == -1)
		return -1;
	return zmq_setsockopt(zmq, ZMQ_ZAP_DOMAIN, domain, strlen(domain));
}

int
curve_secure(void *zmq, const char *domain)
{
	if (!is_on)
		return 0;
	if (domain != NULL)
		return secure_server(zmq, domain);
	if (*brokers == '\0') {
		errno = ENOKEY;
		return -1;
	}
	if (set_key(zmq, ZMQ_CURVE_SERVERKEY, brokers) == -1 ||
	    set_key(zmq, ZMQ_CURVE_PUBLICKEY, ours.public_key) == -1)
		return -1;
	return set_key(zmq, ZMQ_CURVE_SECRETKEY, ours.secret_key);
}
