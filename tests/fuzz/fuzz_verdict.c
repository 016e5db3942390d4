/* Whatever a child writes makes content, a command, a fault or a question, and all are text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-tools/verdict.h"
#include "bounds.h"
#include "json.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_copy(arena, data, size);
	const struct command_tool tool = { .name = "t",
		.output = (enum tool_output[]){ TOOL_OUTPUT_TEXT, TOOL_OUTPUT_JSON,
		    TOOL_OUTPUT_COMMAND, TOOL_OUTPUT_COMMAND }[size % 4],
		.interrupts = size % 3 == 0 };
	const struct process_result result = { .end = PROCESS_EXITED,
		.status = size > 0 ? data[0] % 2 * TOOL_EXIT_ASKS : 0,
		.reason = "",
		.output = text,
		.output_size = size,
		.error = text,
		.error_size = size };
	struct verdict verdict = verdict_of(arena, &tool, &result);
	const char *words = verdict.fault != NULL     ? verdict.fault->message
			    : verdict.asked != NULL   ? json_text(arena, verdict.asked)
			    : verdict.command != NULL ? json_text(arena, verdict.command)
						      : verdict.content;

	if ((verdict.content != NULL) + (verdict.fault != NULL) +
		    (verdict.asked != NULL) + (verdict.command != NULL) !=
		1 ||
	    !utf8_valid(words, strlen(words)))
		abort();
	arena_destroy(&arena);
	return 0;
}
