/* admit: who may ask, before anything of a body is read: keys, what their tenants have going on, and pages of other sites.
 *
 * A page of any site can have a browser send requests here, though it cannot read the answers; so what comes from a page
 * that nobody allowed may only read, and our own ask anything. Where no key is asked for (without --open), the name we are
 * called by must be this machine's: else such a page would have its own name lead here, and be no other site's. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "api.h"
#include "issuer.h"
#include "url.h"

#define METHODS "GET, POST, PUT, PATCH, DELETE"
#define MAX_AGE_S "600"
#define RETRY_AFTER_S "1"
#define EXPOSED                                                                          \
	"Content-Location, Location, Retry-After, X-Pagination-Total, X-Pagination-Next"

static bool
is_allowed(const struct api *api, const char *origin)
{
	size_t i;

	for (i = 0; api->origins != NULL && api->origins[i] != NULL; i++)
		if (strcmp(api->origins[i], "*") == 0 ||
		    strcmp(api->origins[i], origin) == 0)
			return true;
	return false;
}

static void
allow_reading(struct exchange *exchange, const char *origin)
{
	exchange_add_header(exchange, "Access-Control-Allow-Origin", origin);
	exchange_add_header(exchange, "Access-Control-Expose-Headers", EXPOSED);
	exchange_add_header(exchange, "Vary", "Origin");
}

static void
answer_preflight(struct call *call)
{
	struct exchange *exchange = call->exchange;
	const char *headers = exchange_header(exchange, "Access-Control-Request-Headers");

	exchange_add_header(exchange, "Access-Control-Allow-Methods", METHODS);
	if (headers != NULL)
		exchange_add_header(exchange, "Access-Control-Allow-Headers", headers);
	exchange_add_header(exchange, "Access-Control-Max-Age", MAX_AGE_S);
	reply_nothing(call);
}

static bool
only_reads(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* What is read by whoever may hang up, and cancel a run by that, changes something. */
static bool
changes_nothing(const struct exchange *exchange)
{
	return only_reads(exchange->method) &&
	       exchange_query(exchange, "cancel_on_disconnect") == NULL;
}

/* Which page it is from, or "another site" where the browser says no more: so it does of an image, say. NULL: none. */
static const char *
page_of(const struct exchange *exchange)
{
	const char *origin = exchange_header(exchange, "Origin");
	const char *site = exchange_header(exchange, "Sec-Fetch-Site");

	if (origin != NULL || site == NULL)
		return origin;
	return strcmp(site, "cross-site") == 0 || strcmp(site, "same-site") == 0
		   ? "another site"
		   : NULL;
}

bool
admit_wants_key(const struct api *api)
{
	return api->keys != NULL || api->issuer != NULL;
}

/* Whether the request calls us by an address, or by localhost. */
static bool
is_called_locally(struct call *call)
{
	const char *host = exchange_header(call->exchange, "Host"), *error;
	struct url url;

	return host == NULL ||
	       (url_parse(call->arena, arena_printf(call->arena, "http://%s/", host),
		    &url, &error) == 0 &&
		   (url.is_address || url.is_loopback));
}

/* Whether the page is ours (GET /docs): the browser says so (by https, or of localhost), where a proxy may have changed what we are
 * called, or it is of that name, by whatever scheme. Where no key is asked for, not by a name that anybody's page may have
 * lead here. */
static bool
is_own(struct call *call, const char *origin)
{
	const char *host = exchange_header(call->exchange, "Host");
	const char *site = exchange_header(call->exchange, "Sec-Fetch-Site");
	const char *name = strstr(origin, "://");

	if (!admit_wants_key(call->api) && !is_called_locally(call))
		return false;
	if (site != NULL)
		return strcmp(site, "same-origin") == 0;
	return host != NULL && name != NULL && strcasecmp(name + 3, host) == 0;
}

/* Returns false after answering. */
static bool
admit_page(struct call *call)
{
	struct exchange *exchange = call->exchange;
	const char *origin = page_of(exchange);
	bool is_preflight = strcmp(exchange->method, "OPTIONS") == 0;

	if (origin != NULL && is_allowed(call->api, origin)) {
		if (exchange_header(exchange, "Origin") != NULL)
			allow_reading(exchange, origin);
	} else if (origin != NULL && !changes_nothing(exchange) &&
		   !is_own(call, origin)) {
		reply_error(call, 403,
		    "pages of %s may not ask: --cors-origin says whose may", origin);
		return false;
	}
	if (!is_preflight)
		return true;
	answer_preflight(call);
	return false;
}

/* What stands around a header's value is none of it (RFC 9110, section 5.5). */
static const char *
without_blanks(struct arena *arena, const char *value)
{
	size_t size;

	value += strspn(value, " \t");
	for (size = strlen(value); size > 0 && strchr(" \t", value[size - 1]) != NULL;)
		size--;
	return arena_copy(arena, value, size);
}

/* Takes as long for a key that is nearly right as for any other. */
static const struct value *
find_key(const struct value *keys, const char *given)
{
	const struct value *found = NULL;
	size_t size = strlen(given), i;

	for (i = 0; i < value_size(keys); i++) {
		const struct value *key = value_get(value_at(keys, i), "key");

		if (key->size == size && sodium_memcmp(key->text, given, size) == 0)
			found = value_at(keys, i);
	}
	return found;
}

/* A client of LangSmith's adds X-Api-Key by itself, of the environment: one that nobody here knows does not hide a Bearer token. */
static const char *
key_of(const struct call *call)
{
	static const char scheme[] = "Bearer ";
	const struct api *api = call->api;
	const char *key = exchange_header(call->exchange, "X-Api-Key");
	const char *bearer = exchange_header(call->exchange, "Authorization");

	if (bearer != NULL && strncasecmp(bearer, scheme, sizeof scheme - 1) != 0)
		bearer = NULL;
	if (key != NULL && *key != '\0')
		key = without_blanks(call->arena, key);
	else
		key = NULL;
	if (bearer == NULL ||
	    (key != NULL && (find_key(api->keys, key) != NULL ||
				(api->issuer != NULL && token_is_one(key)))))
		return key;
	return without_blanks(call->arena, bearer + sizeof scheme - 1);
}

/* A balancer's look, and the page that asks for a key, for which none is wanted; who has none is not to send a body. */
static bool
wants_no_key(const struct exchange *exchange)
{
	const char *size = exchange_header(exchange, "Content-Length");

	return (strcmp(exchange->path, "/ok") == 0 ||
		   strcmp(exchange->path, "/docs") == 0) &&
	       only_reads(exchange->method) && (size == NULL || strcmp(size, "0") == 0) &&
	       exchange_header(exchange, "Transfer-Encoding") == NULL;
}

/* Returns false after answering that nobody knows the key; *tenant_r: whose it is, or NULL: it is bound to none. */
static bool
admit_key(struct call *call, const char *key, const char **tenant_r)
{
	const struct value *found = find_key(call->api->keys, key);
	const char *error = "no such key";

	*tenant_r = value_get_text(found, "tenant");
	if (found != NULL)
		return true;
	if (call->api->issuer != NULL && token_is_one(key))
		*tenant_r = issuer_tenant(call->api->issuer, call->arena, key, &error);
	if (*tenant_r != NULL)
		return true;
	exchange_add_header(
	    call->exchange, "WWW-Authenticate", "Bearer error=\"invalid_token\"");
	reply_error(call, 401, "%s", error);
	return false;
}

/* So many at once, whatever they are: who streams or waits holds one as long. */
static void
admit_share(struct call *call, const char *tenant)
{
	struct shares *shares = &call->api->shares;

	if (tenant == NULL || share_enter(shares, tenant, call->exchange))
		return;
	exchange_add_header(call->exchange, "Retry-After", RETRY_AFTER_S);
	reply_error(call, 429,
	    "%" PRIu64 " requests of your tenant are going on, as many as may be at once",
	    shares->requests_max);
}

/* By its key. One of two headers may be a proxy's word, and the other the client's. */
static void
admit_by_key(struct call *call)
{
	struct exchange *exchange = call->exchange;
	const char *key = key_of(call), *tenant;

	if (exchange_header_count(exchange, "X-Api-Key") > 1 ||
	    exchange_header_count(exchange, "Authorization") > 1) {
		reply_error(call, 400, "X-Api-Key, Authorization: stand there twice");
	} else if (key == NULL) {
		exchange_add_header(exchange, "WWW-Authenticate", "Bearer");
		reply_error(
		    call, 401, "a key is wanted, in X-Api-Key or as a Bearer token");
	} else if (admit_key(call, key, &tenant)) {
		admit_share(call, tenant);
	}
}

void
admit(struct api *api, struct exchange *exchange)
{
	struct call call = { .api = api, .exchange = exchange, .arena = exchange->arena };

	/* What is at a path differs by key, which a cache between does not know. */
	exchange_add_header(exchange, "Cache-Control", "no-store");
	if (!admit_page(&call) || wants_no_key(exchange))
		return;
	if (admit_wants_key(api))
		admit_by_key(&call);
	else if (api->is_local && !is_called_locally(&call))
		reply_error(&call, 403,
		    "without keys this server answers by its address or localhost");
}
