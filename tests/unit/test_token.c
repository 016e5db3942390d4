#include <check.h>
#include <openssl/err.h>
#include <string.h>

/* Interface under test */
#include "../../cli/serve/access/token.h"

#include "has.h"
#include "token_signer.h"

TCase *tcase_token(void);

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
#define NOW 1800000000

static struct arena *arena;
static struct token_signer *rsa, *ec, *other;
static struct token_keys *keys;
static const struct token_rules rules = {
	.issuer = "https://id.example.com/", .audience = "fleet", .tenant = "sub"
};

static const char *
quoted(const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (char *at = copy; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

static struct token_keys *
read_set(const char *set, const char **error_r)
{
	return token_keys_read(arena, set, strlen(set), error_r);
}

static void
setup(void)
{
	const char *error = NULL;

	arena = arena_new();
	rsa = token_signer_new("RSA", 2048);
	ec = token_signer_new("EC", 0);
	other = token_signer_new("RSA", 2048);
	keys = read_set(arena_printf(arena, "{\"keys\": [%s, %s, %s]}",
			    token_signer_jwk(arena, rsa,
				quoted(", 'kid': 'a', 'alg': 'RS256', 'use': 'sig'")),
			    token_signer_jwk(arena, ec, quoted(", 'kid': 'b'")),
			    quoted("{'kty': 'OKP', 'crv': 'Ed25519', 'x': 'AAAA'}")),
	    &error);
	ck_assert_msg(keys != NULL, "%s", error);
}

static void
teardown(void)
{
	token_keys_destroy(&keys);
	token_signer_destroy(&rsa);
	token_signer_destroy(&ec);
	token_signer_destroy(&other);
	arena_destroy(&arena);
}

/* --- what it says ----------------------------------------------------------------------- */

#define FINE "'iss': 'https://id.example.com/', 'aud': 'fleet', 'exp': 1800000001"

static const struct {
	const char *claims, *tenant, *error;
} said[] = {
	{ "{" FINE ", 'sub': 'user-7'}", "user-7", NULL },
	{ "{'aud': ['x', 'fleet'], 'iss': 'https://id.example.com/', 'exp': "
	  "1799999999.5, "
	  "'sub': 'u', 'nbf': 1800000059, 'iat': 1}",
	    "u", NULL },
	{ "{" FINE ", 'sub': 'auth0|5f7c8ec7c33c6c004bbafe82'}", "h-", NULL },
	{ "{" FINE "}", NULL, "whose it is" },
	{ "{" FINE ", 'sub': ''}", NULL, "whose it is" },
	{ "{" FINE ", 'sub': 7}", NULL, "whose it is" },
	{ "{" FINE ", 'sub': 'a\\u0000b'}", NULL, "whose it is" },
	{ "{'iss': 'https://id.example.com', 'aud': 'fleet', 'exp': 1800000001, 'sub': "
	  "'u'}",
	    NULL, "another issuer" },
	{ "{'aud': 'fleet', 'exp': 1800000001, 'sub': 'u'}", NULL, "another issuer" },
	{ "{'iss': 'https://id.example.com/', 'aud': 'fleets', 'exp': 1800000001, 'sub': "
	  "'u'}",
	    NULL, "another audience" },
	{ "{'iss': 'https://id.example.com/', 'aud': [], 'exp': 1800000001, 'sub': 'u'}",
	    NULL, "another audience" },
	{ "{'iss': 'https://id.example.com/', 'exp': 1800000001, 'sub': 'u'}", NULL,
	    "another audience" },
	{ "{'iss': 'https://id.example.com/', 'aud': 'fleet', 'sub': 'u'}", NULL,
	    "no end" },
	{ "{'iss': 'https://id.example.com/', 'aud': 'fleet', 'sub': 'u', 'exp': "
	  "'1800000001'}",
	    NULL, "no end" },
	{ "{'iss': 'https://id.example.com/', 'aud': 'fleet', 'sub': 'u', 'exp': "
	  "1799999940}",
	    NULL, "has expired" },
	{ "{" FINE ", 'sub': 'u', 'nbf': 1800000061}", NULL, "not valid yet" },
	{ "{" FINE ", 'sub': 'u', 'nbf': 'soon'}", NULL, "not valid yet" },
	{ "[7]", NULL, "another issuer" },
};

START_TEST(what_a_token_says_counts)
{
	const char *token = token_signer_sign(arena, rsa,
	    quoted("{'alg': 'RS256', 'kid': 'a', 'typ': 'JWT'}"), quoted(said[_i].claims),
	    false);
	const char *error, *tenant;
	bool is_unknown;

	ck_assert(token_is_one(token));
	tenant = token_tenant(keys, &rules, arena, token, NOW, &error, &is_unknown);
	ck_assert(!is_unknown);
	if (said[_i].tenant == NULL) {
		ck_assert_ptr_null(tenant);
		ck_assert_has(error, said[_i].error);
	} else {
		ck_assert_msg(tenant != NULL, "%s", error);
		ck_assert_int_eq(
		    strncmp(tenant, said[_i].tenant, strlen(said[_i].tenant)), 0);
	}
}
END_TEST

/* --- who has signed it -------------------------------------------------------------------- */

static const struct {
	const char *header;
	enum { BY_RSA, BY_EC, BY_OTHER } by;
	bool is_pss, is_fine, is_unknown;
} signatures[] = {
	{ "{'alg': 'RS256', 'kid': 'a'}", BY_RSA, false, true, false },
	{ "{'alg': 'RS256'}", BY_RSA, false, true, false },
	{ "{'alg': 'ES256', 'kid': 'b'}", BY_EC, false, true, false },
	/* by somebody else's key, also under the name of one of ours */
	{ "{'alg': 'RS256', 'kid': 'a'}", BY_OTHER, false, false, false },
	{ "{'alg': 'RS256', 'kid': 'c'}", BY_OTHER, false, false, true },
	{ "{'alg': 'RS256', 'kid': 'b'}", BY_RSA, false, false, true },
	{ "{'alg': 'ES256', 'kid': 'b'}", BY_RSA, false, false, false },
	/* in another way than the key is for */
	{ "{'alg': 'PS256', 'kid': 'a'}", BY_RSA, true, false, true },
	{ "{'alg': 'RS512', 'kid': 'a'}", BY_RSA, false, false, true },
	{ "{'alg': 'HS256', 'kid': 'a'}", BY_RSA, false, false, true },
	{ "{'alg': 'none'}", BY_RSA, false, false, true },
	{ "{'alg': 'none', 'alg': 'HS256'}", BY_RSA, false, false, true },
	/* what cannot be read */
	{ "{'alg': 'RS256', 'crit': ['exp']}", BY_RSA, false, false, false },
	{ "{'kid': 'a'}", BY_RSA, false, false, false },
	{ "{'alg': 7}", BY_RSA, false, false, false },
	{ "[]", BY_RSA, false, false, false },
	{ "RS256", BY_RSA, false, false, false },
};

START_TEST(only_what_a_key_of_the_set_has_signed_is_believed)
{
	const struct token_signer *signers[] = { rsa, ec, other };
	const char *token = token_signer_sign(arena, signers[signatures[_i].by],
	    quoted(signatures[_i].header), quoted("{" FINE ", 'sub': 'u'}"),
	    signatures[_i].is_pss);
	const char *error;
	bool is_unknown;

	ck_assert_int_eq(
	    token_tenant(keys, &rules, arena, token, NOW, &error, &is_unknown) != NULL,
	    signatures[_i].is_fine);
	ck_assert_int_eq(is_unknown, signatures[_i].is_unknown);
	/* What OpenSSL notes would be taken for a connection's error. */
	ck_assert_uint_eq(ERR_peek_error(), 0);
}
END_TEST

/* Anybody may send a token, and each key that is asked takes its time. */
START_TEST(one_of_many_keys_must_be_named)
{
	const char *list = token_signer_jwk(arena, ec, quoted(", 'kid': 'b'"));
	const char *named =
	    token_signer_sign(arena, ec, quoted("{'alg': 'ES256', 'kid': 'b'}"),
		quoted("{" FINE ", 'sub': 'u'}"), false);
	const char *nameless = token_signer_sign(arena, ec, quoted("{'alg': 'ES256'}"),
	    quoted("{" FINE ", 'sub': 'u'}"), false);
	const char *error = NULL;
	struct token_keys *set;
	bool is_unknown;
	size_t count;

	for (count = 1; count <= 9; count++) {
		set = read_set(arena_printf(arena, "{\"keys\": [%s]}", list), &error);
		ck_assert_ptr_nonnull(set);
		ck_assert_ptr_nonnull(
		    token_tenant(set, &rules, arena, named, NOW, &error, &is_unknown));
		ck_assert_int_eq(token_tenant(set, &rules, arena, nameless, NOW, &error,
				     &is_unknown) != NULL,
		    count <= 8);
		token_keys_destroy(&set);
		list = arena_printf(arena, "%s, %s", list,
		    token_signer_jwk(
			arena, ec, arena_printf(arena, ", \"kid\": \"%zu\"", count)));
	}
	ck_assert_has(error, "which of the issuer's many keys");
	ck_assert(!is_unknown);
}
END_TEST

START_TEST(nothing_of_it_may_be_changed)
{
	char *token =
	    arena_strdup(arena, token_signer_sign(arena, ec, quoted("{'alg': 'ES256'}"),
				    quoted("{" FINE ", 'sub': 'u'}"), false));
	size_t size = strlen(token), i;
	const char *error;
	bool is_unknown;

	ck_assert_ptr_nonnull(
	    token_tenant(keys, &rules, arena, token, NOW, &error, &is_unknown));
	/* The last letter may have bits that count for nothing. */
	for (i = 0; i + 1 < size; i++) {
		char was = token[i];

		token[i] = was == 'A' ? 'B' : 'A';
		ck_assert_msg(token_tenant(keys, &rules, arena, token, NOW, &error,
				  &is_unknown) == NULL,
		    "byte %zu", i);
		token[i] = '\0';
		ck_assert_ptr_null(
		    token_tenant(keys, &rules, arena, token, NOW, &error, &is_unknown));
		token[i] = was;
	}
}
END_TEST

START_TEST(a_signature_with_a_salt_is_one_too)
{
	const char *error = NULL;
	struct token_keys *set = read_set(
	    arena_printf(arena, "{\"keys\": [%s]}", token_signer_jwk(arena, rsa, "")),
	    &error);
	bool is_unknown;

	ck_assert_ptr_nonnull(token_tenant(set, &rules, arena,
	    token_signer_sign(arena, rsa, quoted("{'alg': 'PS256', 'kid': 'z'}"),
		quoted("{" FINE ", 'sub': 'u'}"), true),
	    NOW, &error, &is_unknown));
	token_keys_destroy(&set);
}
END_TEST

/* RFC 7515, appendix A.3. */
START_TEST(the_example_of_the_standard_is_believed)
{
	static const char token[] =
	    "eyJhbGciOiJFUzI1NiJ9."
	    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9p"
	    "c19yb290Ijp0cnVlfQ."
	    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqP"
	    "P3-Kg6NU1Q";
	const char *error = NULL;
	struct token_keys *set =
	    read_set(quoted("{'keys': [{'kty': 'EC', 'crv': 'P-256', 'x': "
			    "'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', 'y': "
			    "'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'}]}"),
		&error);
	bool is_unknown;

	ck_assert_ptr_null(
	    token_tenant(set, &rules, arena, token, NOW, &error, &is_unknown));
	ck_assert_has(error, "another issuer"); /* joe's */
	token_keys_destroy(&set);
}
END_TEST

/* --- names -------------------------------------------------------------------------------- */

START_TEST(no_two_claims_are_one_tenant)
{
	const char *hashed = token_tenant_name(arena, "a b");

	ck_assert_uint_eq(strlen(hashed), 32);
	/* A label of a namespace, of which LangGraph's clients want that. */
	ck_assert_ptr_null(strchr(hashed, '.'));
	ck_assert_str_eq(token_tenant_name(arena, "a-b"), "a-b");
	ck_assert_str_ne(token_tenant_name(arena, "a  b"), hashed);
	ck_assert_str_ne(token_tenant_name(arena, hashed), hashed);
	ck_assert_str_ne(token_tenant_name(arena, "a~b"), "a~b");
	ck_assert_uint_le(
	    strlen(token_tenant_name(arena, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")), 32);
}
END_TEST

static const struct {
	const char *text;
	bool is_one;
} texts[] = {
	{ "a.b.c", true },
	{ "a.b", false },
	{ "a.b.", false },
	{ "a.b.c.d", false },
	{ "a.b.c ", false },
	{ "a.b.c=", false },
	{ "", false },
	{ "fedcba9876543210", false },
};

START_TEST(a_token_is_known_by_its_looks)
{
	ck_assert_int_eq(token_is_one(texts[_i].text), texts[_i].is_one);
}
END_TEST

/* --- sets --------------------------------------------------------------------------------- */

static const struct {
	const char *set, *error;
} sets[] = {
	{ "", "" },
	{ "[]", "no list `keys`" },
	{ "{'keys': {}}", "no list `keys`" },
	{ "{'keys': []}", "no key of RSA or EC" },
	{ "{'keys': [{'kty': 'OKP', 'crv': 'Ed25519', 'x': 'AAAA'}]}",
	    "no key of RSA or EC" },
	{ "{'keys': [{'kty': 'EC', 'crv': 'secp256k1', 'x': 'AA', 'y': 'AA'}]}",
	    "no key of RSA or EC" },
	{ "{'keys': [7]}", "keys[0] is no key" },
	{ "{'keys': [{'kty': 'oct', 'k': 'c2VjcmV0'}]}", "keys[0] is a secret" },
	{ "{'keys': [{'kty': 'RSA', 'n': 'AQAB', 'e': 'AQAB', 'd': 'AA'}]}",
	    "keys[0] is a secret" },
	{ "{'keys': [{'kty': 'RSA', 'n': 'AQAB'}]}", "keys[0] cannot be read" },
	{ "{'keys': [{'kty': 'EC', 'crv': 'P-256', 'x': 'AA', 'y': 'AA'}]}",
	    "keys[0] cannot be read" },
	{ "{'keys': [{'kty': 'RSA', 'n': 'AQABAQABAQAB', 'e': 'AQAB'}]}",
	    "keys[0] has not 2048 bits" },
};

#define POINT                                                                            \
	"'kty': 'EC', 'crv': 'P-256', 'x': "                                             \
	"'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', 'y': "                           \
	"'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'"

/* Of a key that is one: what its other members say. NULL: it is taken. */
static const struct {
	bool is_rsa;
	const char *more, *error;
} members[] = {
	{ false, ", 'use': 'sig', 'key_ops': ['sign', 'verify'], 'kid': 'a'", NULL },
	{ false, ", 'use': null, 'key_ops': null, 'kid': null, 'alg': null", NULL },
	/* for something else */
	{ false, ", 'use': 'enc'", "no key of RSA or EC" },
	{ false, ", 'use': 7", "no key of RSA or EC" },
	{ false, ", 'key_ops': ['encrypt']", "no key of RSA or EC" },
	{ false, ", 'key_ops': 'verify'", "no key of RSA or EC" },
	/* An algorithm or a name that is no text is not the same as none, with which more would be believed. */
	{ false, ", 'alg': ['ES256']", "keys[0] cannot be read" },
	{ false, ", 'kid': 7", "keys[0] cannot be read" },
	/* not on the curve */
	{ false, ", 'x': 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEA'",
	    "keys[0] cannot be read" },
	{ true, ", 'e': 'AQAB'", NULL },
	{ true, ", 'e': 'AAEAAQ'", NULL },
	{ true, ", 'e': 'AQ'", "keys[0] cannot be read" },
	{ true, ", 'e': 'Ag'", "keys[0] cannot be read" },
	{ true, ", 'e': 'AA'", "keys[0] cannot be read" },
	{ true, ", 'e': ''", "keys[0] cannot be read" },
	/* so large that a signature would take a hundred times as long */
	{ true, ", 'e': 'gAAAAAAAAAAB'", "keys[0] cannot be read" },
};

START_TEST(what_a_key_says_of_itself_counts)
{
	const char *error = NULL, *key;
	struct token_keys *set;

	key = members[_i].is_rsa ? token_signer_jwk(arena, rsa, quoted(members[_i].more))
				 : arena_printf(arena, "{%s%s}", quoted(POINT),
				       quoted(members[_i].more));
	set = read_set(arena_printf(arena, "{\"keys\": [%s]}", key), &error);
	ck_assert_int_eq(set != NULL, members[_i].error == NULL);
	if (members[_i].error != NULL)
		ck_assert_has(error, members[_i].error);
	token_keys_destroy(&set);
	/* One that will not do does not take the others with it. */
	error = NULL;
	set = read_set(
	    arena_printf(arena, "{\"keys\": [%s, {%s}]}", key, quoted(POINT)), &error);
	ck_assert_ptr_nonnull(set);
	token_keys_destroy(&set);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}
END_TEST

START_TEST(a_set_has_a_bound)
{
	const char *list = arena_printf(arena, "{%s}", quoted(POINT)), *error = NULL;
	struct token_keys *set;
	int i;

	for (i = 1; i < 64; i++)
		list = arena_printf(arena, "%s, {%s}", list, quoted(POINT));
	set = read_set(arena_printf(arena, "{\"keys\": [%s]}", list), &error);
	ck_assert_ptr_nonnull(set);
	token_keys_destroy(&set);
	set = read_set(
	    arena_printf(arena, "{\"keys\": [%s, {%s}]}", list, quoted(POINT)), &error);
	ck_assert_ptr_null(set);
	ck_assert_has(error, "keys[64] is one too many");
}
END_TEST

START_TEST(a_set_that_will_not_do_is_refused)
{
	const char *error = NULL;

	ck_assert_ptr_null(read_set(quoted(sets[_i].set), &error));
	ck_assert_has(error, sets[_i].error);
}
END_TEST

TCase *
tcase_token(void)
{
	TCase *tcase = tcase_create("token");

	tcase_add_unchecked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, what_a_token_says_counts, 0, COUNT(said));
	tcase_add_loop_test(tcase, only_what_a_key_of_the_set_has_signed_is_believed, 0,
	    COUNT(signatures));
	tcase_add_test(tcase, one_of_many_keys_must_be_named);
	tcase_add_test(tcase, nothing_of_it_may_be_changed);
	tcase_add_test(tcase, a_signature_with_a_salt_is_one_too);
	tcase_add_test(tcase, the_example_of_the_standard_is_believed);
	tcase_add_test(tcase, no_two_claims_are_one_tenant);
	tcase_add_loop_test(tcase, a_token_is_known_by_its_looks, 0, COUNT(texts));
	tcase_add_loop_test(tcase, what_a_key_says_of_itself_counts, 0, COUNT(members));
	tcase_add_test(tcase, a_set_has_a_bound);
	tcase_add_loop_test(tcase, a_set_that_will_not_do_is_refused, 0, COUNT(sets));
	return tcase;
}
