#include "redis_url.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define REDIS_PORT 6379

static char *
copy(const char *text, size_t size)
{
	char *copied = xcalloc(size + 1, 1);

	memcpy(copied, text, size);
	return copied;
}

static int
number(const char *text, size_t size, int max, int *number_r)
{
	char *digits = copy(text, size), *end;
	long value = strtol(digits, &end, 10);
	int result = size > 0 && *end == '\0' && value >= 0 && value <= max ? 0 : -1;

	free(digits);
	if (result == 0)
		*number_r = (int)value;
	return result;
}

static void
take_credentials(struct redis_url *url, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);

	if (colon == NULL) {
		url->password = copy(text, size);
		return;
	}
	if (colon > text)
		url->user = copy(text, (size_t)(colon - text));
	url->password = copy(colon + 1, size - (size_t)(colon - text) - 1);
}

/* host[:port][/db], an IPv6 host in brackets. */
static int
take_address(struct redis_url *url, const char *text, const char **error_r)
{
	size_t size = strcspn(text, "/");
	const char *slash = text + size, *colon = memchr(text, ':', size);
	const char *bracket = memchr(text, ']', size);

	if (*text == '[' && bracket != NULL) {
		url->host = copy(text + 1, (size_t)(bracket - text) - 1);
		colon = bracket[1] == ':' ? bracket + 1 : NULL;
	} else {
		url->host = copy(text, colon != NULL ? (size_t)(colon - text) : size);
	}
	*error_r = "a host is missing: redis://host:port";
	if (*url->host == '\0')
		return -1;
	*error_r = "the port is no number from 0 to 65535";
	if (colon != NULL &&
	    number(colon + 1, (size_t)(slash - colon) - 1, 65535, &url->port) == -1)
		return -1;
	*error_r = "the database behind the last / is no number";
	if (*slash == '/' && slash[1] != '\0' &&
	    number(slash + 1, strlen(slash + 1), 65535, &url->db) == -1)
		return -1;
	return 0;
}

int
redis_url_parse(struct redis_url *url, const char *text, const char **error_r)
{
	const char *at;

	*url = (struct redis_url){ .port = REDIS_PORT };
	if (strncmp(text, "unix://", 7) == 0) {
		*error_r = "unix:// wants an absolute path: unix:///run/redis.sock";
		if (text[7] != '/')
			return -1;
		url->path = copy(text + 7, strlen(text + 7));
		return 0;
	}
	*error_r = "no URL of Redis: redis://host:port or unix:///path";
	if (strncmp(text, "redis://", 8) != 0)
		return -1;
	text += 8;
	at = strrchr(text, '@');
	if (at != NULL) {
		take_credentials(url, text, (size_t)(at - text));
		text = at + 1;
	}
	if (take_address(url, text, error_r) == 0)
		return 0;
	redis_url_release(url);
	return -1;
}

void
redis_url_release(struct redis_url *url)
{
	if (url->password != NULL)
		explicit_bzero(url->password, strlen(url->password));
	free(url->path);
	free(url->host);
	free(url->user);
	free(url->password);
	*url = (struct redis_url){ 0 };
}
