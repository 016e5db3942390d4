#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

#define ARGUMENTS_MAX 64u

struct cli_job {
	struct arena *arena;
	pid_t pid;
	int files[3]; /* what are its stdin, stdout and stderr */
};

static void
give_up(const char *what)
{
	perror(what);
	abort();
}

static int
memory_file(const char *name, const char *text)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	size_t size = text != NULL ? strlen(text) : 0;

	if (fd == -1 || write(fd, text, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) == -1)
		give_up(name);
	return fd;
}

static const char *
contents(struct arena *arena, int fd)
{
	struct stat status;
	char *text;
	ssize_t size;

	if (fstat(fd, &status) == -1)
		give_up("fstat");
	text = arena_alloc(arena, (size_t)status.st_size + 1);
	size = pread(fd, text, (size_t)status.st_size, 0);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

/* The test may have blocked or ignored signals: the program starts as from a shell. */
/* As in children.c: the memory is the test's. */
static void
become(const struct cli *cli, const struct cli_job *job, const char *const argv[])
{
	const char *all[ARGUMENTS_MAX + 2] = { cli->program };
	sigset_t none;
	size_t i;

	for (i = 0; i < ARGUMENTS_MAX && argv[i] != NULL; i++)
		all[i + 1] = argv[i];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cli->folder != NULL && chdir(cli->folder) == -1)
		_exit(126);
	for (i = 0; i < 3; i++)
		dup2(job->files[i], (int)i);
	execvp(cli->program, (char *const *)all);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", cli->program, strerror(errno));
	_exit(127);
}

struct cli_job *
cli_start(const struct cli *cli, const char *input, const char *const argv[])
{
	struct cli_job *job = xcalloc(1, sizeof *job);

	job->arena = cli->arena;
	job->files[0] = memory_file("stdin", input);
	job->files[1] = memory_file("stdout", NULL);
	job->files[2] = memory_file("stderr", NULL);
	job->pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
	if (job->pid == -1)
		give_up("vfork");
	if (job->pid == 0)
		become(cli, job, argv);
	return job;
}

const char *
cli_out(const struct cli_job *job)
{
	return contents(job->arena, job->files[1]);
}

const char *
cli_err(const struct cli_job *job)
{
	return contents(job->arena, job->files[2]);
}

void
cli_signal(const struct cli_job *job, int number)
{
	kill(job->pid, number);
}

struct said
cli_end(struct cli_job **job_p)
{
	struct cli_job *job = *job_p;
	struct said said;
	int status, i;

	while (waitpid(job->pid, &status, 0) == -1)
		if (errno != EINTR)
			give_up("waitpid");
	said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	said.out = contents(job->arena, job->files[1]);
	said.err = contents(job->arena, job->files[2]);
	for (i = 0; i < 3; i++)
		close(job->files[i]);
	free(job);
	*job_p = NULL;
	return said;
}

struct said
cli_run(const struct cli *cli, const char *input, const char *const argv[])
{
	struct cli_job *job = cli_start(cli, input, argv);

	return cli_end(&job);
}
