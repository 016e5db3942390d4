#include "token_key.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <sodium.h>

#include "memory.h"

#define RSA_BITS_MIN 2048 /* RFC 7518, section 3.3 */
#define RSA_BITS_MAX 8192 /* a larger one takes a second to be read */
#define RSA_EXPONENT_BITS_MAX                                                            \
	64 /* it is 65537 nearly always: with a large one a signature takes a hundred times as long */
#define FIELD_BYTES_MAX 66u                   /* of a coordinate: P-521 */
#define POINT_UNCOMPRESSED ((unsigned char)4) /* SEC 1, section 2.3.3 */

struct token_key {
	EVP_PKEY *key;
	const struct curve *curve; /* NULL: RSA */
	char *id, *algorithm;      /* or NULL */
};

static const struct curve {
	const char *name;
	size_t field_bytes; /* of a coordinate, and of half a signature */
} curves[] = { { "P-256", 32 }, { "P-384", 48 }, { "P-521", FIELD_BYTES_MAX } };

/* All that sign by a key whose other half nobody needs to have (RFC 7518, section 3.1). */
static const struct algorithm {
	const char *name, *digest;
	const char *curve; /* NULL: RSA */
	bool is_pss;
} algorithms[] = {
	{ "RS256", "SHA256", NULL, false },
	{ "RS384", "SHA384", NULL, false },
	{ "RS512", "SHA512", NULL, false },
	{ "PS256", "SHA256", NULL, true },
	{ "PS384", "SHA384", NULL, true },
	{ "PS512", "SHA512", NULL, true },
	{ "ES256", "SHA256", "P-256", false },
	{ "ES384", "SHA384", "P-384", false },
	{ "ES512", "SHA512", "P-521", false },
};

static const struct algorithm *
algorithm_called(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
		if (strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	return NULL;
}

static const struct curve *
curve_of(const struct value *given)
{
	size_t i;

	for (i = 0; value_text_is(value_get(given, "kty"), "EC") &&
		    i < sizeof curves / sizeof *curves;
	     i++)
		if (value_text_is(value_get(given, "crv"), curves[i].name))
			return &curves[i];
	return NULL;
}

static bool
is_for_signatures(const struct value *given)
{
	const struct value *use = value_get(given, "use");
	const struct value *uses = value_get(given, "key_ops");

	return (value_is_nil(use) || value_text_is(use, "sig")) &&
	       (value_is_nil(uses) || value_contains(uses, "verify"));
}

bool
token_key_is_wanted(const struct value *given)
{
	return is_for_signatures(given) &&
	       (value_text_is(value_get(given, "kty"), "RSA") || curve_of(given) != NULL);
}

/* --- reading ------------------------------------------------------------------------------ */

const unsigned char *
token_bytes(struct arena *arena, const char *text, size_t size, size_t *size_r)
{
	unsigned char *bytes = arena_alloc(arena, size + 1);

	return sodium_base642bin(bytes, size, text, size, NULL, size_r, NULL,
		   sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0
		   ? bytes
		   : NULL;
}

static const unsigned char *
number_of(
    struct arena *arena, const struct value *given, const char *name, size_t *size_r)
{
	const struct value *text = value_get(given, name);

	return value_is(text, VALUE_STR) && text->size > 0
		   ? token_bytes(arena, text->text, text->size, size_r)
		   : NULL;
}

/* Takes build. Returns the key of that kind, or NULL: it is none. */
static EVP_PKEY *
key_from(const char *kind, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL),
		     *check = NULL;
	EVP_PKEY *key = NULL;

	if (params != NULL && context != NULL && EVP_PKEY_fromdata_init(context) == 1 &&
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) == 1)
		check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	if (check == NULL || EVP_PKEY_public_check(check) != 1) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	EVP_PKEY_CTX_free(check);
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	return key;
}

static EVP_PKEY *
read_rsa(struct arena *arena, const struct value *given, const char **error_r)
{
	size_t n_size, e_size;
	const unsigned char *n = number_of(arena, given, "n", &n_size);
	const unsigned char *e = number_of(arena, given, "e", &e_size);
	BIGNUM *modulus, *exponent;
	OSSL_PARAM_BLD *build;
	EVP_PKEY *key = NULL;
	int bits;

	if (n == NULL || e == NULL || n_size > RSA_BITS_MAX / 8 + 1 || e_size > n_size)
		return NULL;
	modulus = BN_bin2bn(n, (int)n_size, NULL);
	exponent = BN_bin2bn(e, (int)e_size, NULL);
	bits = BN_num_bits(modulus);
	build = OSSL_PARAM_BLD_new();
	if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX)
		*error_r =
		    "has not 2048 bits at least, and 8192 at most, as a key of RSA has";
	else if (BN_num_bits(exponent) <= RSA_EXPONENT_BITS_MAX &&
		 OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
		 OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1) {
		key = key_from("RSA", build);
		build = NULL;
	}
	OSSL_PARAM_BLD_free(build);
	BN_free(modulus);
	BN_free(exponent);
	return key;
}

static EVP_PKEY *
read_ec(struct arena *arena, const struct value *given, const struct curve *curve)
{
	unsigned char point[1 + 2 * FIELD_BYTES_MAX] = { POINT_UNCOMPRESSED };
	size_t field = curve->field_bytes, x_size, y_size;
	const unsigned char *x = number_of(arena, given, "x", &x_size);
	const unsigned char *y = number_of(arena, given, "y", &y_size);
	OSSL_PARAM_BLD *build;

	if (x == NULL || y == NULL || x_size != field || y_size != field)
		return NULL;
	memcpy(point + 1, x, field);
	memcpy(point + 1 + field, y, field);
	build = OSSL_PARAM_BLD_new();
	OSSL_PARAM_BLD_push_utf8_string(
	    build, OSSL_PKEY_PARAM_GROUP_NAME, curve->name, 0);
	OSSL_PARAM_BLD_push_octet_string(
	    build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * field);
	return key_from("EC", build);
}

static bool
is_text_or_none(const struct value *given)
{
	return value_is_nil(given) || value_is(given, VALUE_STR);
}

/* An algorithm that cannot be read is not the same as none: the key would be for all of its kind. */
static EVP_PKEY *
read_key(struct arena *arena, const struct value *given, const struct curve *curve,
    const char **error_r)
{
	if (!is_text_or_none(value_get(given, "alg")) ||
	    !is_text_or_none(value_get(given, "kid")))
		return NULL;
	return curve == NULL ? read_rsa(arena, given, error_r)
			     : read_ec(arena, given, curve);
}

static char *
kept(const char *text)
{
	return text == NULL ? NULL : xstrdup(text);
}

/* What OpenSSL notes of an error would be taken for that of a connection by whoever uses it next on this thread. */
static void
forget_errors(void)
{
	ERR_clear_error();
}

struct token_key *
token_key_read(struct arena *arena, const struct value *given, const char **error_r)
{
	const struct curve *curve = curve_of(given);
	struct token_key *key;
	EVP_PKEY *read;

	*error_r = "cannot be read as a key";
	read = read_key(arena, given, curve, error_r);
	forget_errors();
	if (read == NULL)
		return NULL;
	*error_r = NULL;
	key = xcalloc(1, sizeof *key);
	key->key = read;
	key->curve = curve;
	key->id = kept(value_get_text(given, "kid"));
	key->algorithm = kept(value_get_text(given, "alg"));
	return key;
}

void
token_key_destroy(struct token_key **key_p)
{
	struct token_key *key = *key_p;

	*key_p = NULL;
	if (key == NULL)
		return;
	EVP_PKEY_free(key->key);
	free(key->id);
	free(key->algorithm);
	free(key);
}

/* --- signatures --------------------------------------------------------------------------- */

bool
token_key_is_for(const struct token_key *key, const char *key_id, const char *name)
{
	const struct algorithm *algorithm = algorithm_called(name);
	const char *curve = key->curve == NULL ? NULL : key->curve->name;

	if (algorithm == NULL || (algorithm->curve == NULL) != (curve == NULL) ||
	    (curve != NULL && strcmp(algorithm->curve, curve) != 0))
		return false;
	return (key_id == NULL || key->id == NULL || strcmp(key_id, key->id) == 0) &&
	       (key->algorithm == NULL || strcmp(key->algorithm, name) == 0);
}

/* Of elliptic curves it is two numbers (RFC 7518, section 3.4), where OpenSSL wants DER. Returns that, to be freed, or NULL. */
static unsigned char *
der_of(const struct curve *curve, const unsigned char *signature, size_t size,
    size_t *size_r)
{
	int field = (int)curve->field_bytes, length;
	unsigned char *der = NULL;
	ECDSA_SIG *both;

	if (size != 2 * curve->field_bytes)
		return NULL;
	both = ECDSA_SIG_new();
	ECDSA_SIG_set0(both, BN_bin2bn(signature, field, NULL),
	    BN_bin2bn(signature + field, field, NULL));
	length = i2d_ECDSA_SIG(both, &der);
	ECDSA_SIG_free(both);
	*size_r = length > 0 ? (size_t)length : 0;
	return length > 0 ? der : NULL;
}

/* A salt is as long as the digest (RFC 7518, section 3.5). */
static bool
verify(const struct token_key *key, const struct algorithm *algorithm, const char *text,
    size_t size, const unsigned char *signature, size_t signature_size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY_CTX *options;
	bool is_right = EVP_DigestVerifyInit_ex(context, &options, algorithm->digest,
			    NULL, NULL, key->key, NULL) == 1;

	if (is_right && algorithm->is_pss)
		is_right =
		    EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) ==
			1;
	is_right = is_right && EVP_DigestVerify(context, signature, signature_size,
				   (const unsigned char *)text, size) == 1;
	EVP_MD_CTX_free(context);
	return is_right;
}

bool
token_key_has_signed(const struct token_key *key, const char *algorithm, const char *text,
    size_t size, const unsigned char *signature, size_t signature_size)
{
	unsigned char *der = NULL;
	bool is_right;

	if (key->curve != NULL) {
		der = der_of(key->curve, signature, signature_size, &signature_size);
		signature = der;
	}
	is_right = signature != NULL && verify(key, algorithm_called(algorithm), text,
					    size, signature, signature_size);
	OPENSSL_free(der);
	forget_errors();
	return is_right;
}
