/* redis_url: where a Redis is, taken apart. */
#ifndef REDIS_URL_H
#define REDIS_URL_H

/* Texts are the struct's own; redis_url_release frees them. */
struct redis_url {
	char *path; /* of a unix socket, or NULL */
	char *host;
	int port;
	char *user, *password; /* or NULL */
	int db;
};

/* Parses "redis://[[user]:password@]host[:port][/db]" or "unix:///path". Returns 0, or -1 with
 * a reason lent for ever. */
int redis_url_parse(struct redis_url *url, const char *text, const char **error_r);
void redis_url_release(struct redis_url *url); /* safe on a zeroed one */

#endif
