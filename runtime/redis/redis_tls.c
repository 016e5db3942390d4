#include "redis_tls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "arena.h"
#include "memory.h"

struct redis_tls {
	SSL *ssl;
	bool wants_write;
	bool is_broken; /* nothing can be said any more */
	char reason[192];
};

/* --- files ---------------------------------------------------------------------------- */

/* Why OpenSSL's last call failed, by what it noted first: what it notes behind that says less. */
static const char *
last_reason(void)
{
	unsigned long code = ERR_peek_error();
	const char *reason = NULL;

	if (ERR_GET_LIB(code) == ERR_LIB_SYS)
		reason = strerror(ERR_GET_REASON(code));
	else if (code != 0)
		reason = ERR_reason_error_string(code);
	return reason != NULL ? reason : "unknown error";
}

static bool
fail(const char *name, const char *file, const char **error_r)
{
	static char error[320];

	snprintf(error, sizeof error, "%s=%s: %s", name, file, last_reason());
	*error_r = error;
	return false;
}

/* A key with a passphrase is refused: nobody is there to be asked. */
static int
no_passphrase(char *text, int size, int is_writing, void *arg)
{
	(void)text;
	(void)size;
	(void)is_writing;
	(void)arg;
	return -1;
}

static bool
set_trust(SSL_CTX *context, const struct redis_tls_options *options, const char **error_r)
{
	if (options->any_cert)
		return true;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (options->ca == NULL) {
		(void)SSL_CTX_set_default_verify_paths(context);
		return true;
	}
	return SSL_CTX_load_verify_file(context, options->ca) == 1 ||
	       fail("ssl_ca_certs", options->ca, error_r);
}

static bool
set_identity(
    SSL_CTX *context, const struct redis_tls_options *options, const char **error_r)
{
	const char *key = options->key != NULL ? options->key : options->cert;

	if (options->cert == NULL)
		return true;
	SSL_CTX_set_default_passwd_cb(context, no_passphrase);
	if (SSL_CTX_use_certificate_chain_file(context, options->cert) != 1)
		return fail("ssl_certfile", options->cert, error_r);
	return SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 ||
	       fail("ssl_keyfile", key, error_r);
}

/* Returns NULL with an error. */
static SSL_CTX *
context_new(const struct redis_tls_options *options, const char **error_r)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (context == NULL)
		arena_exhausted();
	ERR_clear_error();
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	/* Who closes without a word of TLS has closed all the same. */
	SSL_CTX_set_options(
	    context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(
	    context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (set_trust(context, options, error_r) &&
	    set_identity(context, options, error_r))
		return context;
	SSL_CTX_free(context);
	return NULL;
}

bool
redis_tls_check(const struct redis_tls_options *options, const char **error_r)
{
	SSL_CTX *context = context_new(options, error_r);

	SSL_CTX_free(context);
	return context != NULL;
}

/* --- one connection ------------------------------------------------------------------- */

/* The server shall have a certificate for host, and is told whom we want. Returns false where OpenSSL takes host for
 * none (a name of more than 255 bytes): without a host it would check none. */
static bool
expect(
    SSL *ssl, const struct redis_tls_options *options, const char *host, bool is_number)
{
	if (!is_number && SSL_set_tlsext_host_name(ssl, host) != 1)
		return false;
	if (options->any_cert || options->any_hostname)
		return true;
	if (is_number)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set1_host(ssl, host) == 1;
}

struct redis_tls *
redis_tls_new(int fd, const struct redis_tls_options *options, const char *host,
    bool is_number, const char **error_r)
{
	SSL_CTX *context = context_new(options, error_r);
	struct redis_tls *tls;

	if (context == NULL)
		return NULL;
	tls = xcalloc(1, sizeof *tls);
	tls->ssl = SSL_new(context);
	SSL_CTX_free(context); /* ssl keeps it */
	if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1)
		arena_exhausted();
	if (!expect(tls->ssl, options, host, is_number)) {
		redis_tls_destroy(&tls); /* never without the check */
		*error_r = "no certificate can be for that host";
	}
	return tls;
}

void
redis_tls_destroy(struct redis_tls **tls_p)
{
	struct redis_tls *tls = *tls_p;

	if (tls != NULL)
		SSL_free(tls->ssl);
	free(tls);
	*tls_p = NULL;
}

void
redis_tls_end(struct redis_tls *tls)
{
	if (!tls->is_broken && SSL_is_init_finished(tls->ssl))
		(void)SSL_shutdown(tls->ssl); /* the answer is not waited for */
	ERR_clear_error();
}

/* --- what goes wrong ------------------------------------------------------------------ */

static const char *
remedy_of(long verdict)
{
	switch (verdict) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "it is not for the host of the URL";
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
		return "who signed it is not among ssl_ca_certs";
	default:
		return X509_verify_cert_error_string(verdict);
	}
}

static void
say_why(struct redis_tls *tls)
{
	long verdict = SSL_get_verify_result(tls->ssl);

	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
		snprintf(tls->reason, sizeof tls->reason,
		    "its certificate will not do: %s", remedy_of(verdict));
		break;
	case SSL_R_WRONG_VERSION_NUMBER:
		snprintf(tls->reason, sizeof tls->reason,
		    "it does not speak TLS there (redis:// instead of rediss://?)");
		break;
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		snprintf(tls->reason, sizeof tls->reason,
		    "%s: does it want a certificate of ours (ssl_certfile, ssl_keyfile)?",
		    last_reason());
		break;
	default:
		snprintf(tls->reason, sizeof tls->reason, "TLS: %s", last_reason());
	}
}

/* Returns what redis_tls_read and the like do, when OpenSSL returned this. */
static ssize_t
judge(struct redis_tls *tls, int result, const char **reason_r)
{
	int system_error = errno;

	*reason_r = tls->reason;
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_NONE:
		return result;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		*reason_r = "it closed the connection";
		return -1;
	case SSL_ERROR_SYSCALL:
		tls->is_broken = true;
		snprintf(tls->reason, sizeof tls->reason, "%s",
		    system_error != 0 ? strerror(system_error)
				      : "it closed the connection");
		return -1;
	default:
		tls->is_broken = true;
		say_why(tls);
		return -1;
	}
}

static int
bounded(size_t size)
{
	return size < INT_MAX ? (int)size : INT_MAX;
}

static void
begin(void)
{
	ERR_clear_error();
	errno = 0;
}

ssize_t
redis_tls_shake(struct redis_tls *tls, const char **reason_r)
{
	int result;

	begin();
	result = SSL_connect(tls->ssl);
	tls->wants_write = SSL_want_write(tls->ssl);
	return judge(tls, result, reason_r);
}

ssize_t
redis_tls_read(struct redis_tls *tls, char *bytes, size_t size, const char **reason_r)
{
	int result;

	begin();
	result = SSL_read(tls->ssl, bytes, bounded(size));
	tls->wants_write = SSL_want_write(tls->ssl);
	return judge(tls, result, reason_r);
}

ssize_t
redis_tls_write(
    struct redis_tls *tls, const char *bytes, size_t size, const char **reason_r)
{
	begin();
	return judge(tls, SSL_write(tls->ssl, bytes, bounded(size)), reason_r);
}

bool
redis_tls_wants_write(const struct redis_tls *tls)
{
	return tls->wants_write;
}

bool
redis_tls_has_input(const struct redis_tls *tls)
{
	return SSL_pending(tls->ssl) > 0;
}
