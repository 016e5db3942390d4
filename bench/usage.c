#include "usage.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 20u
#define SETTLE_TURNS_MAX 3000u

double
usage_cpu_us(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) == -1)
		errx(EXIT_FAILURE, "the CPU time of process %d is not known", (int)pid);
	return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

size_t
usage_resident_bytes(pid_t pid)
{
	char path[64];
	unsigned long pages;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

size_t
usage_peak_bytes(pid_t pid)
{
	unsigned long kib = 0;
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		err(EXIT_FAILURE, "%s", path);
	while (kib == 0 && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "VmHWM: %lu kB", &kib);
	fclose(file);
	return kib * 1024;
}

void
usage_forget_peak(pid_t pid)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
	file = fopen(path, "we");
	if (file == NULL || fputs("5", file) == EOF || fclose(file) == EOF)
		err(EXIT_FAILURE, "%s", path);
}

size_t
usage_open_files(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	if (folder == NULL)
		err(EXIT_FAILURE, "%s", path);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

void
usage_await_files(pid_t pid, size_t files)
{
	const struct timespec pause = { .tv_nsec = SETTLE_MS * 1000000L };
	unsigned turns;

	for (turns = 0; usage_open_files(pid) < files && turns < SETTLE_TURNS_MAX;
	     turns++)
		nanosleep(&pause, NULL);
	if (turns == SETTLE_TURNS_MAX)
		errx(EXIT_FAILURE,
		    "the model has %zu open files, not %zu: calls never came",
		    usage_open_files(pid), files);
	nanosleep(&pause, NULL);
}

void
usage_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		err(EXIT_FAILURE, "setrlimit");
}

const char *
usage_program(char path[USAGE_PATH_BYTES])
{
	ssize_t size = readlink("/proc/self/exe", path, USAGE_PATH_BYTES - 1);

	if (size <= 0)
		err(EXIT_FAILURE, "/proc/self/exe");
	path[size] = '\0';
	return path;
}

const char *
usage_build(char path[USAGE_PATH_BYTES])
{
	usage_program(path);
	*strrchr(path, '/') = '\0';
	return path;
}
