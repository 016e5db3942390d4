#include "redis_output.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define ROOM_KEPT (256u << 10) /* for the commands of the next turn */
#define HEAD_BYTES_MAX 24u     /* "*3\r\n", "$12\r\n" */

static char *
put_end(char *at)
{
	*at++ = '\r';
	*at++ = '\n';
	return at;
}

static char *
put_head(char *at, char mark, size_t number)
{
	char digits[20], *digit = digits + sizeof digits;
	size_t size;

	do {
		*--digit = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	size = (size_t)(digits + sizeof digits - digit);
	*at++ = mark;
	memcpy(at, digit, size);
	return put_end(at + size);
}

/* Returns where so many more bytes can be put. */
static char *
reserve(struct redis_output *output, size_t size)
{
	if (size > output->room - output->size && output->sent > 0) {
		output->size -= output->sent;
		memmove(output->bytes, output->bytes + output->sent, output->size);
		output->sent = 0;
	}
	if (size > output->room - output->size) {
		output->room = 2 * output->room + size;
		output->bytes = xreallocarray(output->bytes, output->room, 1);
	}
	return output->bytes + output->size;
}

void
redis_output_add(struct redis_output *output, const struct redis_arg *args, size_t count)
{
	size_t room = HEAD_BYTES_MAX, i;
	char *at;

	for (i = 0; i < count; i++)
		room += HEAD_BYTES_MAX + args[i].size + 2;
	at = put_head(reserve(output, room), '*', count);
	for (i = 0; i < count; i++) {
		at = put_head(at, '$', args[i].size);
		if (args[i].size > 0)
			memcpy(at, args[i].data, args[i].size);
		at = put_end(at + args[i].size);
	}
	output->size = (size_t)(at - output->bytes);
}

const char *
redis_output_next(const struct redis_output *output, size_t *size_r)
{
	*size_r = output->size - output->sent;
	return *size_r == 0 ? NULL : output->bytes + output->sent;
}

void
redis_output_done(struct redis_output *output, size_t size)
{
	output->sent += size;
	if (output->sent < output->size)
		return;
	output->sent = output->size = 0;
	if (output->room > ROOM_KEPT)
		redis_output_free(output);
}

void
redis_output_free(struct redis_output *output)
{
	free(output->bytes);
	*output = (struct redis_output){ .bytes = NULL };
}
