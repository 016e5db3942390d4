#include "fleet.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "fleet_launch.h"
#include "memory.h"
#include "parts/shim.h"

#define SERVE_UNREACHABLE 4 /* its exit status: docs/cli.md */
#define TICK_MS 20u
#define AGAIN_MS 300u       /* until one that ended by itself is started again */
#define DRAIN_MS_MAX 90000u /* longer than any drain's bound; the machine is busy */

/* --- names --------------------------------------------------------------------------------- */

const char *
fleet_path(struct fleet *fleet, const char *name)
{
	return arena_printf(fleet->arena, "%s/%s", fleet->folder, name);
}

const char *
fleet_write(struct fleet *fleet, const char *name, const char *text)
{
	const char *path = fleet_path(fleet, name);
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
		perror(path);
		abort();
	}
	return path;
}

void
fleet_say(struct fleet *fleet, const char *format, ...)
{
	FILE *file = fopen(fleet_path(fleet, "chaos.log"), "ae");
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fprintf(stderr, "%s\n", line);
	if (file == NULL)
		return;
	fprintf(file, "%10.3f %s\n", (double)loop_now_us() / 1e6, line);
	fclose(file);
}

static const char *
through(struct fleet *fleet, const char *who, const char *whom, const char *scheme)
{
	const char *link = arena_printf(fleet->arena, "%s>%s", who, whom);
	const struct party *party = fleet_party(fleet, who);
	const char *host = party != NULL && party->space != NULL
			       ? fleet->plan->space_address
			       : "127.0.0.1";

	return arena_printf(
	    fleet->arena, "%s://%s:%u", scheme, host, launch_port(fleet, link));
}

const char *
fleet_redis(struct fleet *fleet, const char *who)
{
	if (who == NULL || fleet->plan->direct)
		return arena_printf(fleet->arena, "unix://%s", fleet->redis_path);
	return through(fleet, who, "redis", "redis");
}

static const char *
broker_endpoint(
    struct fleet *fleet, const char *who, const char *socket_name, unsigned index)
{
	const char *name = arena_printf(fleet->arena, "%s-%u", socket_name, index);

	if (who == NULL || fleet->plan->direct)
		return arena_printf(fleet->arena, "ipc://%s/%s", fleet->folder, name);
	return through(fleet, who, name, "tcp");
}

const char *
fleet_broker(struct fleet *fleet, const char *who, unsigned index)
{
	return broker_endpoint(fleet, who, "broker", index);
}

const char *
fleet_status(struct fleet *fleet, const char *who, unsigned index)
{
	return broker_endpoint(fleet, who, "status", index);
}

const char *
fleet_serve(struct fleet *fleet, unsigned index)
{
	return through(
	    fleet, "client", arena_printf(fleet->arena, "serve-%u", index), "http");
}

struct party *
fleet_party(struct fleet *fleet, const char *name)
{
	unsigned i;

	for (i = 0; i < fleet->count; i++)
		if (strcmp(fleet->parties[i].name, name) == 0)
			return &fleet->parties[i];
	return NULL;
}

/* --- supervision ----------------------------------------------------------------------------- */

static void
start_party(struct party *party)
{
	party->child = launch_party(party);
	party->ready = party->stopped = party->ending = false;
	party->starts++;
}

/* A drain that faults hold up is cut off at its bound, with a word of it and status 1. */
static bool
was_cut_off(const struct party *party, int status)
{
	char text[4096];
	const char *last_line;
	FILE *file;
	size_t size;

	if (!party->ending || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_FAILURE)
		return false;
	file = fopen(arena_printf(party->fleet->arena, "%s/%s.log", party->fleet->folder,
			 party->name),
	    "re");
	if (file == NULL)
		return false;
	if (fseek(file, -(long)(sizeof text - 1), SEEK_END) == -1)
		rewind(file);
	size = fread(text, 1, sizeof text - 1, file);
	text[size > 0 ? size - 1 : 0] = '\0';
	fclose(file);
	last_line = strrchr(text, '\n');
	return strstr(last_line != NULL ? last_line : text, ": ends at once: ") != NULL;
}

/* A server of HTTP that finds no Redis when it starts says so in time, and is started again by whoever looks after it. */
static bool
found_no_redis(const struct party *party, int status)
{
	return party->kind == PARTY_SERVE && WIFEXITED(status) &&
	       WEXITSTATUS(status) == SERVE_UNREACHABLE;
}

/* A Redis that cannot write ends itself: it must rather than lose what it promised. */
static void
party_ended(struct party *party, int status)
{
	struct fleet *fleet = party->fleet;
	bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	party->ready = party->stopped = false;
	if (party->start_at_ms == UINT64_MAX)
		party->start_at_ms = loop_now_ms(fleet->loop) + AGAIN_MS;
	if ((party->ending && fine) || party->kind == PARTY_REDIS ||
	    found_no_redis(party, status))
		return;
	if (was_cut_off(party, status)) {
		fleet->cut_drains++;
		return;
	}
	fleet->crashes++;
	fleet_say(fleet, "CRASH: %s ended with status 0x%x%s, see %s/%s.log", party->name,
	    (unsigned)status, party->ending ? " after SIGTERM" : "", fleet->folder,
	    party->name);
}

static void
look_after(struct party *party)
{
	uint64_t now_ms = loop_now_ms(party->fleet->loop);
	int status;

	if (party->child == NULL) {
		if (party->start_at_ms <= now_ms && !party->fleet->closing)
			start_party(party);
		return;
	}
	if (!party->ready)
		party->ready = child_said_ready(party->child);
	if (child_has_ended(&party->child, &status)) {
		party->start_at_ms = party->ending ? 0 : UINT64_MAX;
		party_ended(party, status);
	} else if (party->ending && now_ms > party->ending_since_ms + DRAIN_MS_MAX) {
		party->fleet->late_drains++;
		fleet_say(
		    party->fleet, "LATE: %s does not end after SIGTERM", party->name);
		party_kill(party, 0);
	}
}

static void
on_tick(void *arg)
{
	struct fleet *fleet = arg;
	unsigned i;

	for (i = 0; i < fleet->count; i++)
		look_after(&fleet->parties[i]);
}

void
party_kill(struct party *party, uint64_t down_ms)
{
	if (party->child == NULL)
		return;
	child_kill(&party->child);
	party->ready = party->stopped = party->ending = false;
	party->start_at_ms = loop_now_ms(party->fleet->loop) + down_ms;
}

void
party_drain(struct party *party)
{
	if (party->child == NULL || party->ending || !party->ready)
		return;
	party->ending = true;
	party->ending_since_ms = loop_now_ms(party->fleet->loop);
	kill(child_pid(party->child), SIGTERM);
}

void
party_stop(struct party *party)
{
	if (party->child == NULL)
		return;
	party->stopped = true;
	kill(child_pid(party->child), SIGSTOP);
}

void
party_continue(struct party *party)
{
	if (party->child == NULL || !party->stopped)
		return;
	party->stopped = false;
	kill(child_pid(party->child), SIGCONT);
	if (party->ending) /* what it slept through does not count */
		party->ending_since_ms = loop_now_ms(party->fleet->loop);
}

pid_t
party_pid(const struct party *party)
{
	return party->child != NULL ? child_pid(party->child) : 0;
}

static long
count_descriptors(pid_t pid)
{
	char path[64];
	long count = -2; /* . and .. */
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	if (folder == NULL)
		return 0;
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

struct usage
party_usage(const struct party *party)
{
	struct usage usage = { 0 };
	char path[64], line[256];
	FILE *file;

	if (party->child == NULL)
		return usage;
	usage.descriptors = count_descriptors(party_pid(party));
	snprintf(path, sizeof path, "/proc/%d/status", (int)party_pid(party));
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			usage.rss_kb = strtol(line + 6, NULL, 10);
	if (file != NULL)
		fclose(file);
	return usage;
}

/* --- links, healing ------------------------------------------------------------------------------ */

void
fleet_link(struct fleet *fleet, const char *link, const char *command)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[256];
	int size = snprintf(text, sizeof text, "%s %s", link, command);

	snprintf(
	    address.sun_path, sizeof address.sun_path, "%s/proxy.control", fleet->folder);
	if (sendto(fleet->control_fd, text, (size_t)size, 0, (struct sockaddr *)&address,
		sizeof address) == -1)
		perror("proxy.control");
}

void
fleet_heal(struct fleet *fleet)
{
	unsigned i;

	for (i = 0; i < fleet->count; i++) {
		struct party *party = &fleet->parties[i];

		party_continue(party);
		if (party->shim != NULL) {
			atomic_store(&party->shim->clock_ms, 0);
			atomic_store(&party->shim->fsync_ms, 0);
		}
	}
	if (!fleet->plan->direct)
		fleet_link(fleet, "*", "heal");
}

/* --- life ---------------------------------------------------------------------------------------- */

static const char *
own_folder(struct arena *arena)
{
	char path[4096], *slash;
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	if (size <= 0)
		abort();
	path[size] = '\0';
	slash = strrchr(path, '/');
	*slash = '\0';
	return arena_strdup(arena, path);
}

static struct shim *
shim_new(struct fleet *fleet, const char *name)
{
	const char *path = arena_printf(fleet->arena, "%s/%s.shim", fleet->folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;

	if (fd == -1 || ftruncate(fd, sizeof(struct shim)) == -1)
		abort();
	map = mmap(NULL, sizeof(struct shim), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	return map;
}

static void
add_party(struct fleet *fleet, enum party_kind kind, unsigned index)
{
	static const char *const names[PARTY_KINDS] = { "proxy", "provider", "redis",
		"broker", "tools", "model", "coordinator", "serve" };
	struct party *party = &fleet->parties[fleet->count++];
	unsigned count = fleet->plan->counts[kind];

	*party = (struct party){ .fleet = fleet,
		.kind = kind,
		.index = index,
		.name = arena_printf(fleet->arena, "%s-%u", names[kind], index),
		.start_at_ms = UINT64_MAX,
		.long_lived = kind < PARTY_REDIS || (kind >= PARTY_TOOLS && index == 0) };
	if (kind == PARTY_SERVE)
		party->port = launch_free_port();
	if (kind >= PARTY_TOOLS && kind != PARTY_SERVE && index + 1 == count && count > 1)
		party->space = fleet->plan->space;
	if (kind == PARTY_REDIS || (kind > PARTY_REDIS && !fleet->plan->plain))
		party->shim = shim_new(fleet, party->name);
}

struct fleet *
fleet_new(struct loop *loop, const struct fleet_plan *plan, const char *folder)
{
	struct fleet *fleet = xcalloc(1, sizeof *fleet);
	unsigned kind, i;

	fleet->loop = loop;
	fleet->plan = plan;
	fleet->arena = arena_new();
	fleet->folder = arena_strdup(fleet->arena, folder);
	fleet->build = own_folder(fleet->arena);
	fleet->redis_path = fleet_path(fleet, "redis");
	fleet->data = fleet_path(fleet, "data");
	fleet->control_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	mkdir(fleet->data, 0700);
	for (kind = 0; kind < PARTY_KINDS; kind++)
		for (i = 0; i < plan->counts[kind]; i++)
			add_party(fleet, (enum party_kind)kind, i);
	return fleet;
}

/* The others' arguments name the ports of these. */
static void
start_ways(struct fleet *fleet)
{
	struct party *provider = fleet_party(fleet, "provider-0"),
		     *proxy = fleet_party(fleet, "proxy-0");

	start_party(provider);
	child_ready(provider->child);
	provider->ready = true;
	if (proxy == NULL)
		return;
	launch_configure_proxy(fleet);
	start_party(proxy);
	child_ready(proxy->child);
	proxy->ready = true;
}

void
fleet_start(struct fleet *fleet)
{
	unsigned i;

	start_ways(fleet);
	for (i = 0; i < fleet->count; i++)
		if (fleet->parties[i].child == NULL)
			fleet->parties[i].start_at_ms = 0;
	fleet->timer = timer_start(fleet->loop, 1, TICK_MS, on_tick, fleet);
}

bool
fleet_is_up(const struct fleet *fleet)
{
	unsigned i;

	for (i = 0; i < fleet->count; i++)
		if (!fleet->parties[i].ready || fleet->parties[i].ending ||
		    fleet->parties[i].child == NULL)
			return false;
	return true;
}

static bool
ended_well(struct party *party)
{
	int status;

	if (party->child == NULL)
		return true;
	kill(child_pid(party->child), SIGTERM);
	status = child_wait(&party->child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	fprintf(stderr, "%s ended with status 0x%x\n", party->name, (unsigned)status);
	return false;
}

unsigned
fleet_destroy(struct fleet **fleet_p)
{
	struct fleet *fleet = *fleet_p;
	unsigned bad = 0, i;

	fleet->closing = true;
	timer_stop(&fleet->timer);
	for (i = fleet->count; i-- > 0;) {
		bad += ended_well(&fleet->parties[i]) ? 0 : 1;
		if (fleet->parties[i].shim != NULL)
			munmap(fleet->parties[i].shim, sizeof(struct shim));
	}
	close(fleet->control_fd);
	arena_destroy(&fleet->arena);
	free(fleet);
	*fleet_p = NULL;
	return bad;
}
