/* JSON Web Tokens and sets of keys as anybody may send them. Nobody but the holder of the key makes a token that counts, and what of it
 * is refused has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/serve/access/token.h"

/* Of RFC 7515, appendix A.3, whose token is in the corpus: its signature is right, and it is for nobody. */
static const char set[] = "{\"keys\": [{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": "
			  "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\", \"y\": "
			  "\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static void
check_set(struct arena *arena, const char *text, size_t size)
{
	const char *error = NULL;
	struct token_keys *keys = token_keys_read(arena, text, size, &error);

	require((keys == NULL) == (error != NULL));
	token_keys_destroy(&keys);
}

static void
check_token(struct arena *arena, const char *text)
{
	static const struct token_rules rules = { "joe", "fleet", "sub" };
	const char *error = NULL;
	struct token_keys *keys = token_keys_read(arena, set, strlen(set), &error);
	bool is_unknown;

	require(keys != NULL);
	require(token_tenant(
		    keys, &rules, arena, text, 1300819379, &error, &is_unknown) == NULL);
	require(error != NULL && *error != '\0');
	require(!token_is_one(text) || strlen(text) >= 5);
	token_keys_destroy(&keys);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	char *copy = malloc(size + 1);

	if (size > 0)
		memcpy(copy, data, size);
	copy[size] = '\0';
	if (size > 0 && (*copy == '{' || *copy == '['))
		check_set(arena, copy, size);
	else
		check_token(arena, copy);
	free(copy);
	arena_destroy(&arena);
	return 0;
}
