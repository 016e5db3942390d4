#include "space.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli.h"

#define DISK_OPTIONS "size=8g"

const char *
space_begin(void)
{
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return strerror(errno);
	return NULL;
}

/* --- network --------------------------------------------------------------------------------- */

/* Runs a line of words; returns NULL or what it complained about. */
static const char *
command(struct arena *arena, const char *line)
{
	char *words = arena_strdup(arena, line), *save = NULL, *word;
	const char *argv[24];
	struct cli cli = { .arena = arena };
	struct said said;
	size_t count = 0;

	for (word = strtok_r(words, " ", &save); word != NULL && count < 23;
	     word = strtok_r(NULL, " ", &save))
		argv[count++] = word;
	argv[count] = NULL;
	cli.program = argv[0];
	said = cli_run(&cli, NULL, argv + 1);
	if (said.status == 0)
		return NULL;
	return arena_printf(arena, "%s: %s", line, said.err);
}

const char *
space_open(struct space *space, struct arena *arena)
{
	unsigned pid = (unsigned)getpid(), a = pid / 64 % 256, b = pid % 64 * 4;
	const char *const lines[] = {
		arena_printf(arena, "ip netns add fl%u", pid),
		arena_printf(
		    arena, "ip link add fl%ua type veth peer name fl%ub", pid, pid),
		arena_printf(arena, "ip link set fl%ub netns fl%u", pid, pid),
		arena_printf(
		    arena, "ip addr add 10.213.%u.%u/30 dev fl%ua", a, b + 1, pid),
		arena_printf(arena, "ip link set fl%ua up", pid),
		arena_printf(arena, "ip -n fl%u addr add 10.213.%u.%u/30 dev fl%ub", pid,
		    a, b + 2, pid),
		arena_printf(arena, "ip -n fl%u link set fl%ub up", pid, pid),
		arena_printf(arena, "ip -n fl%u link set lo up", pid),
		arena_printf(arena, "ip netns exec fl%u iptables -w -L -n", pid),
	};
	const char *error;
	size_t i;

	for (i = 0; i < sizeof lines / sizeof *lines; i++)
		if ((error = command(arena, lines[i])) != NULL)
			return error;
	space->name = arena_printf(arena, "fl%u", pid);
	space->address = arena_printf(arena, "10.213.%u.%u", a, b + 1);
	return NULL;
}

static void
rules(const struct space *space, const char *rule)
{
	struct arena *arena = arena_new();
	const char *error = command(arena,
	    arena_printf(arena, "ip netns exec %s iptables -w %s", space->name, rule));

	if (error != NULL)
		fprintf(stderr, "%s\n", error);
	arena_destroy(&arena);
}

void
space_cut(const struct space *space, enum fault_kind kind)
{
	if (kind == FAULT_PARTITION || kind == FAULT_PARTITION_IN)
		rules(space, "-A INPUT ! -i lo -j DROP");
	if (kind == FAULT_PARTITION || kind == FAULT_PARTITION_OUT)
		rules(space, "-A OUTPUT ! -o lo -j DROP");
	if (kind == FAULT_PARTITION_REJECT)
		rules(space, "-A INPUT ! -i lo -p tcp -j REJECT --reject-with tcp-reset");
}

void
space_heal(const struct space *space)
{
	rules(space, "-F");
}

/* --- disk ---------------------------------------------------------------------------------------- */

const char *
disk_open(const char *path)
{
	if (mkdir(path, 0700) == -1 && errno != EEXIST)
		return strerror(errno);
	return mount("tmpfs", path, "tmpfs", 0, DISK_OPTIONS) == -1 ? strerror(errno)
								    : NULL;
}

void
disk_fill(const char *path)
{
	struct statvfs of;
	char options[64];

	if (statvfs(path, &of) == -1)
		return;
	snprintf(options, sizeof options, "size=%llu",
	    (unsigned long long)(of.f_blocks - of.f_bfree) * of.f_frsize);
	if (mount("tmpfs", path, "tmpfs", MS_REMOUNT, options) == -1)
		perror("remount");
}

void
disk_free(const char *path)
{
	if (mount("tmpfs", path, "tmpfs", MS_REMOUNT, DISK_OPTIONS) == -1)
		perror("remount");
}
