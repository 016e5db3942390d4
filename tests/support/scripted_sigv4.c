#include "scripted_sigv4.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "value.h"

#define MINUTES 5
#define ALGORITHM "AWS4-HMAC-SHA256"

static const char *
hex(struct arena *arena, const uint8_t *data, size_t size)
{
	const char *text = "";

	for (size_t i = 0; i < size; i++)
		text = arena_printf(arena, "%s%02x", text, data[i]);
	return text;
}

static const char *
sha256(struct arena *arena, const void *data, size_t size)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];

	return hex(arena, SHA256(data, size, hash), sizeof hash);
}

static void
hmac(uint8_t hash[SHA256_DIGEST_LENGTH], const void *key, size_t size, const char *text)
{
	HMAC(EVP_sha256(), key, (int)size, (const uint8_t *)text, strlen(text), hash,
	    NULL);
}

/* --- the canonical request ------------------------------------------------------------ */

/* Returns what stands behind name in the value of Authorization, up to a comma. */
static const char *
field(struct arena *arena, const char *authorization, const char *name)
{
	const char *at = strstr(authorization, name);

	if (at == NULL)
		return "";
	at += strlen(name);
	return arena_copy(arena, at, strcspn(at, ","));
}

/* The path as it came, encoded once more. */
static const char *
canonical_path(struct arena *arena, const char *path)
{
	const char *text = "";

	for (; *path != '\0' && *path != '?'; path++)
		text = isalnum((unsigned char)*path) || strchr("-._~/", *path) != NULL
			   ? arena_printf(arena, "%s%c", text, *path)
			   : arena_printf(arena, "%s%%%02X", text, (unsigned char)*path);
	return text;
}

/* "name:value" of each signed header, in their order; NULL: one of them is not there. */
static const char *
canonical_headers(struct arena *arena, struct evkeyvalq *headers, const char *names)
{
	const char *text = "";

	while (*names != '\0') {
		size_t size = strcspn(names, ";");
		const char *name = arena_copy(arena, names, size);
		const char *value = evhttp_find_header(headers, name);

		if (value == NULL)
			return NULL;
		text = arena_printf(arena, "%s%s:%s\n", text, name, value);
		names += size + (names[size] == ';');
	}
	return text;
}

/* Headers that have to be signed where they are there. */
static const char *
unsigned_header(struct arena *arena, struct evkeyvalq *headers, const char *names)
{
	const struct evkeyval *header;

	for (header = headers->tqh_first; header != NULL; header = header->next.tqe_next)
		if ((strcasecmp(header->key, "host") == 0 ||
			strcasecmp(header->key, "content-type") == 0 ||
			strncasecmp(header->key, "x-amz-", 6) == 0) &&
		    strcasestr(names, header->key) == NULL)
			return arena_printf(arena, "%s is not signed", header->key);
	return NULL;
}

/* --- the clock ------------------------------------------------------------------------ */

static const char *
late_or_early(struct arena *arena, const char *date)
{
	struct tm utc = { 0 };
	double behind;

	if (date == NULL || strptime(date, "%Y%m%dT%H%M%SZ", &utc) == NULL)
		return "no date";
	behind = difftime(time(NULL), timegm(&utc));
	if (behind > MINUTES * 60)
		return arena_printf(
		    arena, "Signature expired: %s is now earlier than it may be", date);
	if (behind < -MINUTES * 60)
		return arena_printf(
		    arena, "Signature not yet current: %s is still later", date);
	return NULL;
}

/* --- the whole ------------------------------------------------------------------------ */

static const char *
signature(struct arena *arena, const char *secret, const char *day, const char *region,
    const char *service, const char *text)
{
	const char *first = arena_printf(arena, "AWS4%s", secret);
	uint8_t key[SHA256_DIGEST_LENGTH], next[SHA256_DIGEST_LENGTH];

	hmac(key, first, strlen(first), day);
	hmac(next, key, sizeof key, region);
	hmac(key, next, sizeof next, service);
	hmac(next, key, sizeof key, "aws4_request");
	hmac(key, next, sizeof next, text);
	return hex(arena, key, sizeof key);
}

const char *
scripted_sigv4_check(struct arena *arena, struct evkeyvalq *headers, const char *path,
    const void *body, size_t size, const char *secret, const char *region,
    const char *service)
{
	const char *authorization = evhttp_find_header(headers, "Authorization");
	const char *date = evhttp_find_header(headers, "X-Amz-Date");
	const char *names, *scope, *canonical, *lines, *wrong;

	if (authorization == NULL || strncmp(authorization, ALGORITHM " ", 17) != 0)
		return "not signed";
	wrong = late_or_early(arena, date);
	if (wrong != NULL)
		return wrong;
	names = field(arena, authorization, "SignedHeaders=");
	wrong = unsigned_header(arena, headers, names);
	if (wrong != NULL)
		return wrong;
	lines = canonical_headers(arena, headers, names);
	scope = arena_printf(arena, "%.8s/%s/%s/aws4_request", date, region, service);
	if (lines == NULL ||
	    strstr(field(arena, authorization, "Credential="), scope) == NULL)
		return "another scope or headers that are not there";
	canonical = arena_printf(arena, "POST\n%s\n\n%s\n%s\n%s",
	    canonical_path(arena, path), lines, names, sha256(arena, body, size));
	canonical =
	    signature(arena, secret, arena_printf(arena, "%.8s", date), region, service,
		arena_printf(arena, ALGORITHM "\n%s\n%s\n%s", date, scope,
		    sha256(arena, canonical, strlen(canonical))));
	return strcmp(canonical, field(arena, authorization, "Signature=")) == 0
		   ? NULL
		   : "The request signature we calculated does not match";
}
