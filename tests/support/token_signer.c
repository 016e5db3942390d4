#include "token_signer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <sodium.h>

#define NUMBER_BYTES_MAX 1024
#define POINT_BYTES 32

struct token_signer {
	EVP_PKEY *key;
	bool is_rsa;
};

struct token_signer *
token_signer_new(const char *kind, unsigned bits)
{
	struct token_signer *signer = calloc(1, sizeof *signer);

	signer->is_rsa = strcmp(kind, "RSA") == 0;
	signer->key = signer->is_rsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256");
	assert(signer->key != NULL);
	return signer;
}

void
token_signer_destroy(struct token_signer **signer_p)
{
	struct token_signer *signer = *signer_p;

	*signer_p = NULL;
	if (signer == NULL)
		return;
	EVP_PKEY_free(signer->key);
	free(signer);
}

static const char *
encoded(struct arena *arena, const void *data, size_t size)
{
	size_t room =
	    sodium_base64_encoded_len(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);

	return sodium_bin2base64(arena_alloc(arena, room), room, data, size,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

/* A number of the key; bytes: so many, with zeros in front; 0: as many as it has. */
static const char *
number(
    struct arena *arena, const struct token_signer *signer, const char *name, int bytes)
{
	unsigned char text[NUMBER_BYTES_MAX];
	BIGNUM *found = NULL;

	if (EVP_PKEY_get_bn_param(signer->key, name, &found) != 1)
		abort();
	if (bytes == 0)
		bytes = BN_num_bytes(found);
	assert(bytes <= NUMBER_BYTES_MAX);
	BN_bn2binpad(found, text, bytes);
	BN_free(found);
	return encoded(arena, text, (size_t)bytes);
}

const char *
token_signer_jwk(struct arena *arena, const struct token_signer *signer, const char *more)
{
	if (signer->is_rsa)
		return arena_printf(arena,
		    "{\"kty\": \"RSA\", \"n\": \"%s\", \"e\": \"%s\"%s}",
		    number(arena, signer, OSSL_PKEY_PARAM_RSA_N, 0),
		    number(arena, signer, OSSL_PKEY_PARAM_RSA_E, 0), more);
	return arena_printf(arena,
	    "{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"%s\", \"y\": \"%s\"%s}",
	    number(arena, signer, OSSL_PKEY_PARAM_EC_PUB_X, POINT_BYTES),
	    number(arena, signer, OSSL_PKEY_PARAM_EC_PUB_Y, POINT_BYTES), more);
}

/* Of elliptic curves OpenSSL makes DER, and JOSE wants the two numbers (RFC 7518, section 3.4). */
static size_t
two_numbers(unsigned char *signature, size_t size)
{
	const unsigned char *at = signature;
	ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &at, (long)size);

	assert(both != NULL);
	BN_bn2binpad(ECDSA_SIG_get0_r(both), signature, POINT_BYTES);
	BN_bn2binpad(ECDSA_SIG_get0_s(both), signature + POINT_BYTES, POINT_BYTES);
	ECDSA_SIG_free(both);
	return 2 * (size_t)POINT_BYTES;
}

const char *
token_signer_sign(struct arena *arena, const struct token_signer *signer,
    const char *header, const char *claims, bool is_pss)
{
	const char *text =
	    arena_printf(arena, "%s.%s", encoded(arena, header, strlen(header)),
		encoded(arena, claims, strlen(claims)));
	unsigned char signature[NUMBER_BYTES_MAX];
	size_t size = sizeof signature;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY_CTX *options;

	if (EVP_DigestSignInit(context, &options, EVP_sha256(), NULL, signer->key) != 1 ||
	    (is_pss &&
		(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) != 1 ||
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) !=
			1)) ||
	    EVP_DigestSign(context, signature, &size, (const unsigned char *)text,
		strlen(text)) != 1)
		abort();
	EVP_MD_CTX_free(context);
	if (!signer->is_rsa)
		size = two_numbers(signature, size);
	return arena_printf(arena, "%s.%s", text, encoded(arena, signature, size));
}
