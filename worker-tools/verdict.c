#include "verdict.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "utf8.h"
#include "written_command.h"

#define TAIL_BYTES_MAX 600u /* of stderr in a message: enough to see what went wrong */

static size_t
trimmed_bytes(const char *text, size_t size)
{
	while (size > 0 && isspace((unsigned char)text[size - 1]))
		size--;
	return size;
}

/* Returns the last line of text that is not blank, or "". */
static const char *
last_line(struct arena *arena, const char *text)
{
	size_t size = trimmed_bytes(text, strlen(text)), start = size;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	return arena_copy(arena, text + start, size - start);
}

static bool
ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static bool
is_fault_type(const char *type)
{
	const char *const *known;

	if (ends_with(type, "Error") || ends_with(type, "Exception"))
		return true;
	for (known = fault_types(); *known != NULL; known++)
		if (strcmp(*known, type) == 0)
			return true;
	return false;
}

/* Reads a line such as "requests.exceptions.ConnectionError: refused", with which a
 * Python traceback ends. Returns the fault, or NULL when the line is another. */
static const struct fault *
fault_from_line(struct arena *arena, const char *line)
{
	const struct fault *fault;
	const char *type = line, *at;

	for (at = line; isalnum((unsigned char)*at) || *at == '_' || *at == '.'; at++)
		if (*at == '.')
			type = at + 1;
	if (at == type || (size_t)(at - type) > FAULT_TYPE_BYTES_MAX ||
	    isdigit((unsigned char)*type))
		return NULL;
	if (*at != '\0' && strncmp(at, ": ", 2) != 0)
		return NULL;
	type = arena_copy(arena, type, (size_t)(at - type));
	if (!is_fault_type(type))
		return NULL;
	fault = fault_new(arena, type, "%s", *at == '\0' ? type : at + 2);
	/* asyncio's CancelledError tells of a task within the program. Who ends our call
	 * or our run are others. */
	return fault->control ? NULL : fault;
}

/* Returns the end of stderr, from the start of a line where there is one. */
static const char *
tail_of(struct arena *arena, const char *text)
{
	size_t size = trimmed_bytes(text, strlen(text));
	const char *start = text, *line;

	if (size > TAIL_BYTES_MAX) {
		start = text + utf8_prefix(text, size, size - TAIL_BYTES_MAX);
		line = memchr(start, '\n', (size_t)(text + size - start));
		start = line == NULL ? start : line + 1;
	}
	return arena_copy(arena, start, (size_t)(text + size - start));
}

static const struct fault *
fault_of_exit(struct arena *arena, const struct process_result *result)
{
	const char *error = utf8_clean(arena, result->error, result->error_size);
	const struct fault *fault = fault_from_line(arena, last_line(arena, error));
	const char *tail = tail_of(arena, error);

	if (fault != NULL)
		return fault;
	if (*tail == '\0')
		return fault_new(arena, "ToolException",
		    "exited with status %d and wrote nothing to stderr", result->status);
	return fault_new(
	    arena, "ToolException", "exited with status %d: %s", result->status, tail);
}

static const struct fault *
fault_of_signal(struct arena *arena, const struct command_tool *tool,
    const struct process_result *result)
{
	const char *tail =
	    tail_of(arena, utf8_clean(arena, result->error, result->error_size));

	if (result->status == SIGXCPU)
		return fault_new(arena, "ToolException",
		    "used more than its cpu_seconds of %llu and was stopped",
		    (unsigned long long)tool->limits.cpu_seconds);
	if (result->status == SIGXFSZ)
		return fault_new(arena, "ToolException",
		    "wrote a file of more than its file_bytes of %llu and was stopped",
		    (unsigned long long)tool->limits.file_bytes);
	return fault_new(arena, "ToolException", "was ended by signal %d (%s)%s%s",
	    result->status, strsignal(result->status), *tail == '\0' ? "" : ": ", tail);
}

static struct verdict
json_verdict(struct arena *arena, const char *text, size_t size)
{
	const struct value *value;
	const char *reason;

	value = json_parse(arena, text, size, &reason);
	if (value == NULL)
		return (struct verdict){ .fault = fault_new(arena, "ToolException",
					     "wrote no JSON although its output is json: "
					     "%s",
					     reason) };
	if (!value_is(value, VALUE_STR))
		return (struct verdict){ .content = json_text(arena, value) };
	return (struct verdict){ .content = utf8_clean(arena, value->text, value->size) };
}

static struct verdict
command_verdict(struct arena *arena, const char *text, size_t size)
{
	struct verdict verdict = { 0 };
	const char *reason;

	verdict.command = written_command(arena, text, size, &reason);
	if (verdict.command == NULL)
		verdict.fault = fault_new(arena, "ToolException", "%s", reason);
	return verdict;
}

static struct verdict
verdict_of_output(struct arena *arena, const struct command_tool *tool,
    const struct process_result *result)
{
	size_t size = result->output_size;

	if (tool->output == TOOL_OUTPUT_JSON)
		return json_verdict(arena, result->output, size);
	if (tool->output == TOOL_OUTPUT_COMMAND)
		return command_verdict(arena, result->output, size);
	if (size > 0 && result->output[size - 1] == '\n')
		size--;
	return (struct verdict){ .content = utf8_clean(arena, result->output, size) };
}

static struct verdict
verdict_of_asking(struct arena *arena, const struct process_result *result)
{
	struct verdict verdict = { 0 };
	const char *reason;

	verdict.asked = json_parse(arena, result->output, result->output_size, &reason);
	if (verdict.asked == NULL)
		verdict.fault = fault_new(arena, "ToolException",
		    "exited with status %d to ask a human, and wrote no JSON to stdout: "
		    "%s",
		    TOOL_EXIT_ASKS, reason);
	return verdict;
}

struct verdict
verdict_of(struct arena *arena, const struct command_tool *tool,
    const struct process_result *result)
{
	struct verdict verdict = { 0 };

	switch (result->end) {
	case PROCESS_EXITED:
		if (result->status == 0)
			return verdict_of_output(arena, tool, result);
		if (tool->interrupts && result->status == TOOL_EXIT_ASKS)
			return verdict_of_asking(arena, result);
		verdict.fault = fault_of_exit(arena, result);
		break;
	case PROCESS_SIGNALLED:
		verdict.fault = fault_of_signal(arena, tool, result);
		break;
	case PROCESS_TIMEOUT:
		verdict.fault = fault_new(arena, "TimeoutError",
		    "took longer than its timeout_ms of %llu and was stopped",
		    (unsigned long long)tool->timeout_ms);
		break;
	case PROCESS_OUTPUT_LIMIT:
		verdict.fault = fault_new(arena, "ToolException",
		    "wrote more than its output_bytes_max of %llu bytes and was stopped",
		    (unsigned long long)tool->output_bytes_max);
		break;
	case PROCESS_CANCELLED:
		verdict.fault = fault_cancelled(arena);
		break;
	case PROCESS_NOT_STARTED:
		verdict.fault = fault_new(
		    arena, "ToolException", "could not be started: %s", result->reason);
		break;
	}
	return verdict;
}
