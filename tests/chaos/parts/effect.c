/* effect: the tool of the chaos runs: does one thing in the world, and says so in the log.
 *
 *	chaos-effect LOG NAME MILLISECONDS [RUNS]
 *
 * A line at the beginning and one at the end, each a single write to a file that only grows:
 *	begin|end RUN CALL NAME KEY WORKER PID MILLISECONDS-SINCE-1970
 * Answers "noted NAME". With RUNS it fails behind its pause, without an end, in the first so many runs in which a call of that key is made,
 * however often they make it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : "-";
}

static void
note(int log, const char *what, const char *name)
{
	char line[1024];
	struct timespec now;
	int size;

	clock_gettime(CLOCK_REALTIME, &now);
	size = snprintf(line, sizeof line, "%s %s %s %s %s %s %d %" PRId64 "\n", what,
	    variable("FLOTILLA_RUN"), variable("FLOTILLA_TOOL_CALL_ID"), name,
	    variable("FLOTILLA_IDEMPOTENCY_KEY"), variable("CHAOS_PARTY"), (int)getpid(),
	    (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	if (size < 0 || (size_t)size >= sizeof line ||
	    write(log, line, (size_t)size) != size) {
		fprintf(stderr, "OSError: the log takes no line\n");
		exit(EXIT_FAILURE);
	}
}

/* A run's name is where a link leads: that is made in one step. */
static bool
stumbles_in(const char *log, long number)
{
	const char *run = variable("FLOTILLA_RUN");
	char path[1024], found[256] = "";
	int size = snprintf(path, sizeof path, "%s.%s.%ld", log,
	    variable("FLOTILLA_IDEMPOTENCY_KEY"), number);

	if (size < 0 || (size_t)size >= sizeof path)
		return true;
	return symlink(run, path) == 0 ||
	       (readlink(path, found, sizeof found - 1) > 0 && strcmp(found, run) == 0);
}

static bool
stumbles(const char *log, long runs)
{
	long i;

	for (i = 0; i < runs; i++)
		if (stumbles_in(log, i))
			return true;
	return false;
}

int
main(int argc, char *argv[])
{
	struct timespec pause;
	long ms;
	int log;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: chaos-effect LOG NAME MILLISECONDS [RUNS]\n");
		return EXIT_FAILURE;
	}
	ms = strtol(argv[3], NULL, 10);
	log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log == -1) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	note(log, "begin", argv[2]);
	pause = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	nanosleep(&pause, NULL);
	if (argc == 5 && stumbles(argv[1], strtol(argv[4], NULL, 10))) {
		fprintf(stderr, "ValueError: not yet\n");
		return EXIT_FAILURE;
	}
	note(log, "end", argv[2]);
	printf("noted %s\n", argv[2]);
	return EXIT_SUCCESS;
}
