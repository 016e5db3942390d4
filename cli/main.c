/* flotilla: the command line. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "curve.h"
#include "descriptors.h"
#include "fiber.h"
#include "log.h"
#include "nearest.h"
#include "secrecy.h"

const struct setting command_common_table[] = { COMMON_SETTINGS, SETTINGS_END };

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void
print_help(FILE *out)
{
	size_t i;

	fputs("Usage: flotilla COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Runs agents on a fleet of workers, and shows what they do.\n\n",
	    out);
	for (i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n`flotilla COMMAND --help` tells more. Exit statuses: 0 done, 1 failed, "
	      "2 usage,\n"
	      "3 not found, 4 unreachable, 5 interrupted, 6 cancelled, 7 refused.\n",
	    out);
}

static const struct command *
find_command(const char *name)
{
	const char *names[COMMAND_COUNT], *near;
	size_t i;

	for (i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
		names[i] = commands[i]->name;
	}
	near = nearest_name(name, names, COMMAND_COUNT);
	complain("no command '%s'%s%s%s `flotilla --help` lists them", name,
	    near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : ";");
	return NULL;
}

static enum status
check_arguments(const struct command *command, const char *const *rest)
{
	size_t count = 0;

	while (rest[count] != NULL && count <= command->arguments_max)
		count++;
	if (count <= command->arguments_max)
		return STATUS_OK;
	complain("'%s' is one argument too many; usage: flotilla %s [OPTION...] %s",
	    rest[count - 1], command->name, command->usage);
	return STATUS_USAGE;
}

struct invocation {
	const struct command *command;
	struct loop *loop;
	void *settings;
	const char *const *rest;
	enum status status;
};

static void
run_command(void *arg)
{
	struct invocation *invocation = arg;
	struct session *session = session_new(invocation->loop, invocation->settings);

	invocation->status = STATUS_USAGE;
	if (invocation->command->keyless ||
	    session_open_keys(session, invocation->settings) == 0)
		invocation->status = invocation->command->run(
		    session, invocation->settings, invocation->rest);
	if (invocation->status == STATUS_UNREACHABLE && session_interrupted(session))
		invocation->status = STATUS_FAILED;
	session_destroy(&session);
	loop_stop(invocation->loop);
}

static void
parse(struct invocation *invocation, int argc, char **argv)
{
	const struct command *command = invocation->command;
	char program[64];
	struct settings_help help = { .program = program,
		.usage = command->usage,
		.summary = command->text != NULL ? command->text : command->summary };

	snprintf(program, sizeof program, "flotilla %s", command->name);
	invocation->settings = calloc(1, command->settings_size);
	if (invocation->settings == NULL)
		abort();
	settings_parse(
	    command->table, invocation->settings, &help, argc, argv, &invocation->rest);
}

/* On a full disk a file is not what its reader will take it for. Whoever closed our pipe has
 * read what he wanted. */
static void
check_output(int status, void *arg)
{
	struct pollfd out = { .fd = STDOUT_FILENO };
	bool is_lost = ferror(stdout) != 0;

	(void)arg;
	is_lost = fflush(stdout) == EOF || is_lost;
	if (!is_lost || status != STATUS_OK ||
	    (poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0))
		return;
	complain("not everything could be written to the standard output: is its disk "
		 "full?");
	_exit(STATUS_FAILED);
}

/* Those that `up` starts inherit the limit: no more than we need. */
static enum status
check_descriptors(void)
{
	const char *wrong = descriptors_take(DESCRIPTORS_MIN);

	if (wrong == NULL)
		return STATUS_OK;
	complain("%s", wrong);
	return STATUS_FAILED;
}

int
main(int argc, char *argv[])
{
	static char help_word[] = "--help";
	struct invocation invocation = { 0 };
	enum status status;

	on_exit(check_output, NULL);
	/* "help COMMAND" is "COMMAND --help". */
	if (argc > 2 && strcmp(argv[1], "help") == 0) {
		argv[1] = argv[2];
		argv[2] = help_word;
		argc = 3;
	}
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(argc < 2 ? stderr : stdout);
		return argc < 2 ? STATUS_USAGE : STATUS_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("flotilla " FLOTILLA_VERSION);
		return STATUS_OK;
	}
	invocation.command = find_command(argv[1]);
	if (invocation.command == NULL)
		return STATUS_USAGE;
	log_open("flotilla", LOG_LEVEL_WARN);
	secrecy_begin(false);
	signal(SIGPIPE, SIG_IGN);
	parse(&invocation, argc - 1, argv + 1);
	status = check_arguments(invocation.command, invocation.rest);
	if (status == STATUS_OK)
		status = check_descriptors();
	if (status != STATUS_OK) {
		settings_release(invocation.command->table, invocation.settings);
		free(invocation.settings);
		return status;
	}
	invocation.loop = loop_new();
	if (fiber_start(invocation.loop, "command", run_command, &invocation) == NULL)
		abort();
	loop_run(invocation.loop);
	loop_destroy(&invocation.loop);
	fflush(stdout);
	socket_end((int)invocation.status);
	curve_close();
	settings_release(invocation.command->table, invocation.settings);
	free(invocation.settings);
	return (int)invocation.status;
}
