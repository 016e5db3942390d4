/* Whatever Bedrock answers becomes a message or a fault. Of a stream each line is an event, its name in front of its JSON, or with
 * a ! an exception. */
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/bedrock_error.h"
#include "../../worker-model/bedrock_stream.h"

#include "response.h"
#include "scripted_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
add_line(struct packet *stream, char *line)
{
	char *payload = line + strcspn(line, " ");
	int failed = *line == '!';

	if (*payload != '\0')
		*payload++ = '\0';
	scripted_frame(stream, failed ? "exception" : "event", line + failed, payload);
}

static void
check_refusal(char *text)
{
	struct arena *arena = arena_new();
	const struct http_response response = {
		.status = 400, .header = text, .body = text, .body_size = strlen(text)
	};

	if (*bedrock_refusal(arena, "server", &response)->message == '\0')
		abort();
	arena_destroy(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet stream = { 0 };
	char *text, *line, *rest;

	if (size == 0)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	check_refusal(text);
	packet_append(&stream, data, 1);
	if (data[0] & 0x80)
		packet_append(&stream, data + 1, size - 1);
	else
		for (line = strtok_r(text, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest))
			add_line(&stream, line);
	response_check(&bedrock_stream, (const uint8_t *)stream.data, stream.size);
	packet_release(&stream);
	free(text);
	return 0;
}
