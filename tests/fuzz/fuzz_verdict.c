/* Whatever a child writes makes content or a fault, and both are text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-tools/verdict.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_copy(arena, data, size);
	const struct command_tool tool = { .name = "t",
		.output = size % 2 == 0 ? TOOL_OUTPUT_TEXT : TOOL_OUTPUT_JSON };
	const struct process_result result = { .end = PROCESS_EXITED,
		.status = size > 0 ? data[0] % 2 : 0,
		.reason = "",
		.output = text,
		.output_size = size,
		.error = text,
		.error_size = size };
	struct verdict verdict = verdict_of(arena, &tool, &result);
	const char *words =
	    verdict.fault != NULL ? verdict.fault->message : verdict.content;

	if ((verdict.content == NULL) == (verdict.fault == NULL) ||
	    !utf8_valid(words, strlen(words)))
		abort();
	arena_destroy(&arena);
	return 0;
}
