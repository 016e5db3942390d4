/* await-file: what a tool of a test waits with. A shell's loop of `sleep` begins a process each time: sixty tools that waited
 * so took two cores.
 *
 *	await-file there|gone PATH [SECONDS TEXT]
 *
 * With these it says TEXT so long afterwards: a tool that has nothing else to do needs one process, and no `sleep`.
 * Exit status 0: it is so; 1: not within ten minutes, after which no test is there any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOKS_MAX 12000u
static const struct timespec gap = { .tv_nsec = 50 * 1000 * 1000 };

static int
say(double seconds, const char *text)
{
	time_t whole = (time_t)seconds;
	struct timespec left = { .tv_sec = whole,
		.tv_nsec = (long)((seconds - (double)whole) * 1e9) };

	nanosleep(&left, NULL);
	return puts(text) == EOF || fflush(stdout) == EOF;
}

int
main(int argc, char **argv)
{
	unsigned looks;

	if ((argc != 3 && argc != 5) ||
	    (strcmp(argv[1], "there") != 0 && strcmp(argv[1], "gone") != 0)) {
		fprintf(stderr, "usage: await-file there|gone PATH [SECONDS TEXT]\n");
		return 2;
	}
	for (looks = 0; looks < LOOKS_MAX; looks++) {
		if ((access(argv[2], F_OK) == 0) == (argv[1][0] == 't'))
			return argc == 5 ? say(strtod(argv[3], NULL), argv[4]) : 0;
		nanosleep(&gap, NULL);
	}
	return 1;
}
