/* pii_digest: the hash that LangChain's JavaScript puts in the place of a value.
 *
 * It is meant to be SHA-256 and is not: of the four rounds that its library writes out, the second
 * and third have their words in the wrong places (@langchain/core 1.x, utils/js-sha256; the
 * conformance scenarios were recorded with it). Who wants values of ours equal to those of other
 * programs says hash_function: sha256. Not for anything but names of 32 bits. */
#ifndef PII_DIGEST_H
#define PII_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The first 32 bits. */
uint32_t pii_digest(const void *data, size_t size);

#endif
