/* speaker: somebody at the other end of a real connection who says what the fuzzer wants, whatever was
 * asked: for clients of ours that cannot be had without a socket. A thread of its own. */
#ifndef FUZZ_SPEAKER_H
#define FUZZ_SPEAKER_H

#include <stddef.h>
#include <stdint.h>

/* Listens at path, a unix socket, or, path being NULL, on a port of the loopback interface. Returns the
 * port. Once a process. */
uint16_t speaker_listen(const char *path);

/* From now on each connection gets the bytes, once the other side has begun to speak, and then the
 * end of what we say. Copied. */
void speaker_say(const uint8_t *data, size_t size);

#endif
