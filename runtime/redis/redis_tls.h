/* redis_tls: TLS on a connected socket, by OpenSSL. Part of redis.
 *
 * TLS 1.2 at least. Unless it is said otherwise the server's certificate must be signed by somebody we trust,
 * and be for the host of the URL. Files are read anew for each connection: a certificate that
 * was renewed needs no restart. */
#ifndef REDIS_TLS_H
#define REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a rediss:// URL says of it; paths of PEM files, or NULL. Names in the URL are those of redis-py. */
struct redis_tls_options {
	const char
	    *ca; /* ssl_ca_certs: who may have signed; NULL: whom the system trusts */
	const char *cert;  /* ssl_certfile: ours, with what is between it and its CA */
	const char *key;   /* ssl_keyfile: its key; NULL: in the same file */
	bool any_cert;     /* ssl_cert_reqs=none: whoever it is */
	bool any_hostname; /* ssl_check_hostname=false: whatever its certificate's name */
};

struct redis_tls;

/* Returns whether the files can be read and fit each other, or an error lent until the next call. */
bool redis_tls_check(const struct redis_tls_options *options, const char **error_r);

/* Returns new, for a socket that does not block and that the caller keeps; NULL with an error as above.
 * host is the one of the URL, is_number whether it is an address. */
struct redis_tls *redis_tls_new(int fd, const struct redis_tls_options *options,
    const char *host, bool is_number, const char **error_r);

/* Says that nothing more comes (close_notify), if there is room for that in the socket, and all before it was said: else the other
 * side is told by the socket's end. Nothing is read or written behind it. */
void redis_tls_end(struct redis_tls *tls);
/* Takes *tls_p, which may be NULL; leaves the socket open. */
void redis_tls_destroy(struct redis_tls **tls_p);

/* Each returns more than 0, and so many bytes; 0: not before the socket can be read, or written where
 * redis_tls_wants_write says so; -1 at the end, with a reason lent until destroyed. The handshake comes first,
 * until it returned 1. */
ssize_t redis_tls_shake(struct redis_tls *tls, const char **reason_r);
ssize_t redis_tls_read(
    struct redis_tls *tls, char *bytes, size_t size, const char **reason_r);
ssize_t redis_tls_write(
    struct redis_tls *tls, const char *bytes, size_t size, const char **reason_r);

/* Whether the last shake or read waits to write. */
bool redis_tls_wants_write(const struct redis_tls *tls);

/* Whether there is something to be read that the socket has given already. */
bool redis_tls_has_input(const struct redis_tls *tls);

#endif
