/* Commands of the backend local_shell: each a shell of its own in the root, as the tool worker's user. */
#include "backend_part.h"

#include <string.h>
#include <unistd.h>

#include "bounds.h"
#include "fiber.h"
#include "process.h"
#include "utf8.h"

#define OUTPUT_BYTES 100000
#define WRITTEN_BYTES_MAX (8u << 20) /* then it is killed */
#define STATUS_LATE 124
#define STATUS_SIGNAL 128 /* and the signal, as shells have it */
#define STATUS_KILLED 137

/* --- its environment -------------------------------------------------------------------- */

static bool
is_named(const struct value *env, const char *line)
{
	size_t i;

	for (i = 0; i < value_size(env); i++) {
		const struct value *name = env->pairs[i].key;

		if (strncmp(line, name->text, name->size) == 0 && line[name->size] == '=')
			return true;
	}
	return false;
}

static const char *const *
environment_of(struct arena *arena, const struct value *settings)
{
	const struct value *env = value_get(settings, "env");
	bool inherits = value_get_bool(settings, "inherit_env", false);
	const char **lines;
	size_t count = 0, i;

	for (i = 0; inherits && environ[i] != NULL; i++)
		count++;
	lines = arena_alloc(arena, (count + value_size(env) + 1) * sizeof *lines);
	count = 0;
	for (i = 0; inherits && environ[i] != NULL; i++)
		if (!is_named(env, environ[i]))
			lines[count++] = environ[i];
	for (i = 0; i < value_size(env); i++)
		lines[count++] = arena_printf(
		    arena, "%s=%s", env->pairs[i].key->text, env->pairs[i].value->text);
	return lines;
}

/* --- its output ------------------------------------------------------------------------- */

static void
append(struct packet *text, const char *more)
{
	packet_append(text, more, strlen(more));
}

/* Adds the lines of standard error, marked. */
static void
add_errors(struct packet *text, const char *errors, size_t size)
{
	const char *end = errors + size, *stop;

	while (end > errors && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (; errors < end; errors = stop + 1) {
		stop = memchr(errors, '\n', (size_t)(end - errors));
		if (stop == NULL)
			stop = end;
		append(text, text->size > 0 && text->data[text->size - 1] != '\n'
				 ? "\n[stderr] "
				 : "[stderr] ");
		packet_append(text, errors, (size_t)(stop - errors));
	}
}

static int
status_of(const struct process_result *result)
{
	if (result->end == PROCESS_TIMEOUT)
		return STATUS_LATE;
	if (result->end == PROCESS_OUTPUT_LIMIT)
		return STATUS_KILLED;
	return result->end == PROCESS_SIGNALLED ? STATUS_SIGNAL + result->status
						: result->status;
}

static const struct value *
answer_of(struct arena *arena, const struct value *settings, double seconds,
    const struct process_result *result)
{
	size_t most = (size_t)value_get_int(settings, "max_output_bytes", OUTPUT_BYTES);
	int status = status_of(result);
	struct packet text = { 0 };
	const struct value *shown;
	const char *repaired;
	bool is_cut;
	size_t size;

	packet_append(&text, result->output, result->output_size);
	add_errors(&text, result->error, result->error_size);
	repaired =
	    utf8_repair(arena, text.data == NULL ? "" : text.data, text.size, &size);
	packet_release(&text);
	repaired = backend_printable(arena, repaired, size);
	size = strlen(repaired);
	is_cut = size > most || result->end == PROCESS_OUTPUT_LIMIT;
	shown = value_strn(arena, repaired, utf8_prefix(repaired, size, most));
	if (shown->size == 0)
		shown = VALUE_TEXT("<no output>");
	if (is_cut)
		shown = value_printf(
		    arena, "%s\n\n... Output truncated at %zu bytes.", shown->text, most);
	if (result->end == PROCESS_TIMEOUT)
		shown = value_printf(arena,
		    "%s\n\nError: Command timed out after %.1f seconds and was killed.",
		    shown->text, seconds);
	else if (status != 0)
		shown = value_printf(arena, "%s\n\nExit code: %d", shown->text, status);
	return value_map(arena, "text", shown, "status", value_int(arena, status), "cut",
	    value_bool(is_cut), NULL);
}

/* --- a command -------------------------------------------------------------------------- */

const struct value *
backend_shell_do(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	struct arena *arena = backend->arena;
	const struct value *command = value_get(op, "command");
	double seconds = value_get_number(op, "timeout_ms", 0) / 1000;
	const char *const argv[] = { "/bin/sh", "-c", command->text, NULL };
	struct process_options how = { .argv = argv,
		.env = environment_of(arena, part->settings),
		.directory = value_get_text(part->settings, "root_dir"),
		.output_bytes_max = WRITTEN_BYTES_MAX,
		.limits = { .memory_bytes = TOOL_MEMORY_BYTES,
		    .file_bytes = TOOL_FILE_BYTES,
		    .open_files = TOOL_OPEN_FILES,
		    .processes = TOOL_PROCESSES } };
	struct process_result result;

	if (strcmp(part->kind, "local_shell") != 0)
		return backend_refusal(arena, "this backend runs no commands");
	if (command->size == 0 || strlen(command->text) != command->size ||
	    command->size > TOOL_ARGUMENT_BYTES_MAX)
		return backend_refusal(arena,
		    "a command must have a text, without a NUL in it, of at most %u "
		    "bytes",
		    TOOL_ARGUMENT_BYTES_MAX);
	if (seconds <= 0)
		seconds = backend_seconds_of(part);
	how.timeout_ms = (uint64_t)(seconds * 1000) + 1;
	process_run(fiber_loop(), arena, &how, &result);
	if (result.end == PROCESS_CANCELLED)
		return NULL;
	if (result.end == PROCESS_NOT_STARTED)
		return backend_refusal(
		    arena, "the command could not be begun: %s", result.reason);
	return answer_of(arena, part->settings, seconds, &result);
}
