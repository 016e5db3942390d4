/* bytes: what a fuzzer takes its choices from: its input, front to back, and zeros when that is used
 * up, so that every input means something and a short one is a simple one. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "wire.h"

struct bytes {
	const uint8_t *at;
	size_t left;
};

/* 0 to below - 1; from one byte as long as that will do. */
uint64_t bytes_number(struct bytes *bytes, uint64_t below);

/* The next bytes, at most max of them, as a copy with a NUL behind it; size_r may be NULL. */
const char *bytes_text(
    struct bytes *bytes, struct arena *arena, size_t max, size_t *size_r);

/* One of a few ids: they have to meet each other. */
const char *bytes_id(struct bytes *bytes);

/* A message as the wire's decoder gives it: what the next bytes are, or one built of them that holds
 * what its type requires. NULL, with code and reason, when the decoder refuses it. */
const struct header *bytes_message(struct bytes *bytes, struct arena *arena,
    enum wire_code *code_r, const char **reason_r);

/* The same for one of these types, ended by 0. */
const struct header *bytes_message_of(
    struct bytes *bytes, struct arena *arena, const enum message_type *types);

/* Aborts unless our own decoder takes header: what we send must be readable. */
void check_sendable(const struct header *header);

#endif
