#include "token.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "json.h"
#include "memory.h"
#include "tenant.h"
#include "token_key.h"

#define KEYS_MAX 64u
#define ASKED_MAX                                                                        \
	8u /* of them for a token, which anybody may send: one of P-384 takes more than a millisecond */
#define TOKEN_BYTES_MAX 16384u
#define CLAIM_BYTES_MAX 1024u
#define HASH_MARK "h-" /* no dot: clients take no label of a namespace that has one */
#define HASH_BYTES ((size_t)15) /* 30 hexadecimal digits */

_Static_assert(
    sizeof HASH_MARK - 1 + 2 * HASH_BYTES <= TENANT_BYTES_MAX, "a tenant's name");
_Static_assert(HASH_BYTES <= crypto_generichash_BYTES_MIN, "of a hash");

struct token_keys {
	struct token_key *items[KEYS_MAX];
	size_t count;
};

/* --- keys ------------------------------------------------------------------------------- */

/* Returns NULL, or why the whole set is a mistake. */
static const char *
refuse_set(const struct token_keys *keys, const struct value *given)
{
	if (value_text_is(value_get(given, "kty"), "oct") || value_has(given, "d"))
		return "is a secret: whoever has it could make tokens; public keys are "
		       "wanted";
	return keys->count == KEYS_MAX && token_key_is_wanted(given)
		   ? "is one too many: 64 are the most"
		   : NULL;
}

/* Returns NULL, or why it cannot be used. */
static const char *
add_key(struct token_keys *keys, struct arena *arena, const struct value *given)
{
	const char *wrong = NULL;
	struct token_key *key;

	if (value_get_text(given, "kty") == NULL)
		return "is no key: it has no `kty`";
	if (!token_key_is_wanted(given))
		return NULL;
	key = token_key_read(arena, given, &wrong);
	if (key != NULL)
		keys->items[keys->count++] = key;
	return wrong;
}

/* One that cannot be used is passed over (RFC 7517, section 5), where another can. */
static const char *
add_keys(struct token_keys *keys, struct arena *arena, const struct value *list)
{
	const char *wrong, *first = NULL;
	size_t i;

	if (!value_is(list, VALUE_ARRAY))
		return "no JWK set: it has no list `keys`";
	for (i = 0; i < list->size; i++) {
		wrong = refuse_set(keys, list->items[i]);
		if (wrong != NULL)
			return arena_printf(arena, "keys[%zu] %s", i, wrong);
		wrong = add_key(keys, arena, list->items[i]);
		if (wrong != NULL && first == NULL)
			first = arena_printf(arena, "keys[%zu] %s", i, wrong);
	}
	if (keys->count > 0)
		return NULL;
	return first != NULL ? first : "no key of RSA or EC that signs is in it";
}

struct token_keys *
token_keys_read(struct arena *arena, const char *text, size_t size, const char **error_r)
{
	struct token_keys *keys = xcalloc(1, sizeof *keys);
	const struct value *set = json_parse(arena, text, size, error_r);

	if (set != NULL)
		*error_r = add_keys(keys, arena, value_get(set, "keys"));
	if (*error_r != NULL)
		token_keys_destroy(&keys);
	return keys;
}

void
token_keys_destroy(struct token_keys **keys_p)
{
	struct token_keys *keys = *keys_p;
	size_t i;

	*keys_p = NULL;
	for (i = 0; keys != NULL && i < keys->count; i++)
		token_key_destroy(&keys->items[i]);
	free(keys);
}

/* --- the signature ---------------------------------------------------------------------- */

static size_t
part_span(const char *text)
{
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			    "0123456789-_");
}

bool
token_is_one(const char *text)
{
	size_t i, span = 0;

	for (i = 0; i < 3; i++, text += span) {
		if (i > 0 && *text++ != '.')
			return false;
		span = part_span(text);
		if (span == 0)
			return false;
	}
	return *text == '\0';
}

/* A token, in its parts. */
struct token_parts {
	const char *text;            /* that is signed, */
	size_t size;                 /* so many bytes of it */
	const struct value *header;  /* a map, of the first */
	const unsigned char *claims; /* JSON, of the second */
	const unsigned char *signature;
	size_t claims_size, signature_size;
};

/* Returns 0, or -1: it has no such parts. */
static int
take_apart(struct arena *arena, const char *token, struct token_parts *parts_r)
{
	size_t header = part_span(token), claims, size;
	const unsigned char *text = token_bytes(arena, token, header, &size);
	const char *error;

	if (!token_is_one(token) || text == NULL)
		return -1;
	claims = part_span(token + header + 1);
	*parts_r = (struct token_parts){ .text = token,
		.size = header + 1 + claims,
		.header = json_parse(arena, (const char *)text, size, &error) };
	parts_r->claims =
	    token_bytes(arena, token + header + 1, claims, &parts_r->claims_size);
	token += parts_r->size + 1;
	parts_r->signature =
	    token_bytes(arena, token, strlen(token), &parts_r->signature_size);
	return value_is(parts_r->header, VALUE_MAP) && parts_r->claims != NULL &&
		       parts_r->signature != NULL
		   ? 0
		   : -1;
}

/* The keys that may have signed it: one that it names, or those without a name; all of its kind, where it names none. */
static struct token_keys
keys_for(const struct token_keys *keys, const struct value *header)
{
	const char *id = value_get_text(header, "kid");
	const char *algorithm = value_get_text(header, "alg");
	struct token_keys fit = { .count = 0 };
	size_t i;

	for (i = 0; i < keys->count; i++)
		if (token_key_is_for(keys->items[i], id, algorithm))
			fit.items[fit.count++] = keys->items[i];
	return fit;
}

/* Whether a key of the set has signed it. */
static bool
is_signed(const struct token_keys *keys, const struct token_parts *parts,
    const char **error_r, bool *is_unknown_r)
{
	struct token_keys fit = keys_for(keys, parts->header);
	bool is_right = false;
	size_t i;

	*is_unknown_r = fit.count == 0;
	*error_r = fit.count == 0 ? "the token is signed by no key of the issuer's"
				  : "the token's signature is wrong";
	if (fit.count > ASKED_MAX)
		*error_r = "the token does not say which of the issuer's many keys has "
			   "signed it (kid)";
	for (i = 0; fit.count <= ASKED_MAX && i < fit.count && !is_right; i++)
		is_right = token_key_has_signed(fit.items[i],
		    value_get_text(parts->header, "alg"), parts->text, parts->size,
		    parts->signature, parts->signature_size);
	return is_right;
}

/* Returns what the token says, if a key of the set has signed that. */
static const struct value *
verified(const struct token_keys *keys, struct arena *arena, const char *token,
    const char **error_r, bool *is_unknown_r)
{
	static const char unread[] = "the token cannot be read";
	const struct value *claims;
	struct token_parts parts;

	*error_r = unread;
	if (take_apart(arena, token, &parts) == -1 || value_has(parts.header, "crit") ||
	    value_get_text(parts.header, "alg") == NULL ||
	    !is_signed(keys, &parts, error_r, is_unknown_r))
		return NULL;
	claims =
	    json_parse(arena, (const char *)parts.claims, parts.claims_size, error_r);
	*error_r = unread;
	return claims;
}

/* --- what it says ----------------------------------------------------------------------- */

static bool
is_among(const struct value *given, const char *name)
{
	return value_text_is(given, name) || value_contains(given, name);
}

/* Seconds since 1970, maybe with a fraction. Returns false where it is none. */
static bool
time_of(const struct value *given, double *time_r)
{
	if (value_is(given, VALUE_INT))
		*time_r = (double)given->integer;
	else if (value_is(given, VALUE_FLOAT))
		*time_r = given->real;
	return value_is(given, VALUE_INT) || value_is(given, VALUE_FLOAT);
}

/* Returns NULL, or what is wrong. */
static const char *
refusal(const struct token_rules *rules, const struct value *claims, double now)
{
	const struct value *tenant = value_get(claims, rules->tenant);
	double end, begin;

	if (!value_text_is(value_get(claims, "iss"), rules->issuer))
		return "the token is another issuer's";
	if (!is_among(value_get(claims, "aud"), rules->audience))
		return "the token is for another audience";
	if (!time_of(value_get(claims, "exp"), &end))
		return "the token has no end (exp)";
	if (!(now < end + TOKEN_LEEWAY_S))
		return "the token has expired";
	if (value_has(claims, "nbf") && (!time_of(value_get(claims, "nbf"), &begin) ||
					    !(begin <= now + TOKEN_LEEWAY_S)))
		return "the token is not valid yet (nbf)";
	if (!value_is(tenant, VALUE_STR) || tenant->size == 0 ||
	    tenant->size > CLAIM_BYTES_MAX || strlen(tenant->text) != tenant->size)
		return "the token does not say whose it is";
	return NULL;
}

const char *
token_tenant_name(struct arena *arena, const char *claim)
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	char text[2 * HASH_BYTES + 1];

	if (tenant_is_name(claim) && strncmp(claim, HASH_MARK, strlen(HASH_MARK)) != 0)
		return arena_strdup(arena, claim);
	crypto_generichash(
	    hash, sizeof hash, (const unsigned char *)claim, strlen(claim), NULL, 0);
	sodium_bin2hex(text, sizeof text, hash, HASH_BYTES);
	return arena_printf(arena, HASH_MARK "%s", text);
}

const char *
token_tenant(const struct token_keys *keys, const struct token_rules *rules,
    struct arena *arena, const char *token, int64_t now_s, const char **error_r,
    bool *is_unknown_r)
{
	const struct value *claims = NULL;

	*error_r = "the token is too long";
	*is_unknown_r = false;
	if (strlen(token) <= TOKEN_BYTES_MAX)
		claims = verified(keys, arena, token, error_r, is_unknown_r);
	if (claims == NULL)
		return NULL;
	*error_r = refusal(rules, claims, (double)now_s);
	return *error_r == NULL
		   ? token_tenant_name(arena, value_get_text(claims, rules->tenant))
		   : NULL;
}
