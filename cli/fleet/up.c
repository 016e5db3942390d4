/* up: a whole fleet as children of one command. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include <uv.h>

#include "agent_file.h"
#include "command.h"
#include "fiber.h"
#include "fleet_file.h"
#include "registry.h"
#include "run_folder.h"
#include "supervisor.h"
#include "up_secrets.h"
#include "up_settings.h"
#include "up_words.h"
#include "redis_start.h"

#define READY_MS 20000u
#define REDIS_BUSY_MS 20000u /* some GB of data take longer to read */
#define KILL_MS 15000u       /* of one that does not say how long it needs */
#define LOCK_WAIT_MS 10000u
#define LOCK_POLL_MS 50u

struct up {
	struct session *session;
	const struct up_settings *settings;
	struct arena *arena;
	struct supervisor *supervisor;
	const char *programs; /* the folder of our programs */
	struct run_folder sockets;
	int lock;
	struct fleet_file fleet;
	struct fiber *fiber;
	uv_signal_t interrupt, terminate, hangup;
	bool ending;
};

/* --- starting ----------------------------------------------------------------------- */

static int
start_redis(struct up *up)
{
	const char *data =
	    arena_printf(up->arena, "%s/" FLEET_FOLDER "/data", up->settings->folder);
	const char *argv[] = { "/bin/sh", "-c", REDIS_START_SCRIPT, "redis-server", data,
		"--port", "0", "--unixsocket",
		arena_printf(up->arena, "%s/redis", up->sockets.path), "--unixsocketperm",
		"700", "--dir", data, "--appendonly", "yes", "--stream-node-max-bytes",
		"512", "--appendfsync", up->settings->durability,
		"--auto-aof-rewrite-min-size", "256mb", "--save", "",
		"--maxmemory-policy", "noeviction", "--supervised", "systemd",
		"--daemonize", "no", "--logfile", "redis.log", NULL };

	if (mkdir(data, 0700) == -1 && errno != EEXIST) {
		complain("%s: %s", data, strerror(errno));
		return -1;
	}
	/* The next `up` in this folder waits for the end of our Redis, should we be killed:
	 * two must not write to the same files. */
	return supervisor_start(up->supervisor,
	    &(struct supervisor_program){
		.name = "redis",
		.argv = argv,
		.busy = "reading its data",
		.busy_ms = REDIS_BUSY_MS,
		.log = arena_printf(up->arena, "%s/redis.log", data),
		.withheld = up_secrets(up->arena, "redis", getenv("FLOTILLA_PROVIDER")),
		.orderly = true,
		.keep = up->lock,
	    });
}

/* slots: of a worker, or NULL. */
static int
start_program(struct up *up, const char *kind, int64_t number, const char *slots)
{
	const struct up_settings *settings = up->settings;
	const struct up_child child = {
		.kind = kind,
		.name = number > 0 ? arena_printf(up->arena, "%s-%d", kind, (int)number)
				   : kind,
		.place = number > 0 ? (size_t)number - 1 : 0,
		.slots = slots,
	};

	return supervisor_start(up->supervisor,
	    &(struct supervisor_program){
		.name = child.name,
		.argv = up_words(up->arena, up->programs, settings, &up->fleet, &child),
		.ready_ms = READY_MS,
		.stuck_ms = 2 * (uint64_t)settings->stuck_ms,
		.withheld = up_secrets(up->arena, kind, getenv("FLOTILLA_PROVIDER")),
		.group = kind,
		.keep = -1,
	    });
}

static int
start_many(struct up *up, const char *kind, int64_t count, const char *slots)
{
	int64_t i;

	for (i = 1; i <= count; i++)
		if (start_program(up, kind, i, slots) == -1)
			return -1;
	return 0;
}

/* Broker and coordinator are one process where there is one of each. It is ended last: what workers still bring is
 * stored. */
static bool
has_hub(const struct up *up)
{
	return up->settings->brokers == 1 && up->settings->coordinators == 1;
}

/* The only one has no number. */
static int
start_brokers(struct up *up)
{
	if (has_hub(up))
		return start_program(up, "hub", 0, NULL);
	if (up->settings->brokers == 1)
		return start_program(up, "broker", 0, NULL);
	return start_many(up, "broker", up->settings->brokers, NULL);
}

/* The fleet over HTTP; it says where on its own. */
static int
start_serve(struct up *up)
{
	if (up->settings->serve == NULL)
		return 0;
	return supervisor_start(up->supervisor,
	    &(struct supervisor_program){
		.name = "serve",
		.argv = up_serve_words(up->arena, up->programs, up->settings, &up->fleet),
		.ready_ms = READY_MS,
		.withheld = up_secrets(up->arena, "serve", getenv("FLOTILLA_PROVIDER")),
		.keep = -1,
	    });
}

static int
start_fleet(struct up *up)
{
	const struct up_settings *settings = up->settings;
	const char *model_slots =
	    arena_printf(up->arena, "%d", (int)settings->model_slots);
	const char *tool_slots = arena_printf(up->arena, "%d", (int)settings->tool_slots);

	if (start_redis(up) == -1 || start_brokers(up) == -1 ||
	    start_many(up, "worker-tools", settings->tool_workers, tool_slots) == -1 ||
	    start_many(up, "worker-model", settings->model_workers, model_slots) == -1)
		return -1;
	if (has_hub(up))
		return 0;
	return start_many(up, "coordinator", settings->coordinators, NULL);
}

static int
apply_agents(struct up *up)
{
	const char *const *file = (const char *const *)up->settings->agents;
	const char *const *plugin = (const char *const *)up->settings->plugins;
	const char *error;

	for (; plugin != NULL && *plugin != NULL; plugin++) {
		if (registry_load(*plugin, &error) == -1) {
			complain("--plugin %s: %s", *plugin, error);
			return -1;
		}
	}
	for (; file != NULL && *file != NULL; file++)
		if (agent_file_apply(up->session, *file, NULL, false, NULL) != STATUS_OK)
			return -1;
	return 0;
}

/* --- life --------------------------------------------------------------------------- */

static void
tell(const struct up *up)
{
	const struct up_settings *settings = up->settings;
	const char *middle =
	    has_hub(up) ? "hub (broker and coordinator)"
			: arena_printf(up->arena, "%d x broker, %d x coordinator",
			      (int)settings->brokers, (int)settings->coordinators);

	printf(
	    "the fleet is up: redis, %s, %d x worker-model, %d x worker-tools\n"
	    "  redis   %s\n  broker  %s\n  status  %s\n"
	    "In this folder now: flotilla submit, flotilla watch, flotilla top. Ctrl-C "
	    "ends it.\n",
	    middle, (int)settings->model_workers, (int)settings->tool_workers,
	    up->fleet.redis, session_join(up->session, up->fleet.brokers),
	    session_join(up->session, up->fleet.statuses));
	fflush(stdout);
}

/* After an `up` that was killed its Redis may take a moment to end. */
static int
take_lock(struct up *up)
{
	struct loop *loop = session_loop(up->session);
	uint64_t deadline = loop_now_ms(loop) + LOCK_WAIT_MS;
	struct fleet_file other;

	for (;;) {
		up->lock = fleet_file_lock(up->settings->folder);
		if (up->lock != -1 || errno != EAGAIN)
			return up->lock;
		if (fleet_file_read(up->arena, up->settings->folder, &other) &&
		    kill((pid_t)other.pid, 0) == 0)
			break; /* it lives, or a stranger with its number */
		if (loop_now_ms(loop) >= deadline || fiber_sleep(LOCK_POLL_MS) == -1)
			break;
	}
	errno = EAGAIN;
	return -1;
}

static int
lock_folder(struct up *up, const char *folder)
{
	struct fleet_file other = { .pid = 0 };

	if (take_lock(up) != -1)
		return 0;
	if (errno != EAGAIN)
		complain("%s: %s", folder, strerror(errno));
	else if (!fleet_file_read(up->arena, up->settings->folder, &other))
		complain("a fleet is up in this folder already");
	else if (kill((pid_t)other.pid, 0) == 0)
		complain(
		    "a fleet is up in this folder already (process %d)", (int)other.pid);
	else
		complain("the fleet of process %d was killed, and its Redis has not "
			 "ended yet",
		    (int)other.pid);
	return -1;
}

/* Commands in folders below find it, too. given may be NULL. */
static const char *
whole_path(const struct up *up, const char *given)
{
	char *path = given == NULL ? NULL : realpath(given, NULL);

	if (path == NULL)
		return given;
	given = arena_strdup(up->arena, path);
	free(path);
	return given;
}

/* One for each broker, NULL-ended: ".../broker", or ".../broker-1", ".../broker-2", ... */
static const char *const *
endpoints(const struct up *up, const char *name)
{
	size_t count = (size_t)up->settings->brokers, i;
	const char **list = arena_alloc(up->arena, (count + 1) * sizeof *list);

	for (i = 0; i < count; i++)
		list[i] = count == 1 ? arena_printf(up->arena, "ipc://%s/%s",
					   up->sockets.path, name)
				     : arena_printf(up->arena, "ipc://%s/%s-%zu",
					   up->sockets.path, name, i + 1);
	list[count] = NULL;
	return list;
}

static int
make_folders(struct up *up)
{
	const char *folder =
	    arena_printf(up->arena, "%s/" FLEET_FOLDER, up->settings->folder);
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	if (size <= 0) {
		complain("/proc/self/exe: %s", strerror(errno));
		return -1;
	}
	path[size] = '\0';
	up->programs = arena_strdup(up->arena, dirname(path));
	if (access(up->settings->folder, F_OK) == -1) {
		complain("--folder %s: %s", up->settings->folder, strerror(errno));
		return -1;
	}
	if (mkdir(folder, 0700) == -1 && errno != EEXIST) {
		complain("%s: %s", folder, strerror(errno));
		return -1;
	}
	if (!fleet_file_is_ours(up->settings->folder)) {
		complain("%s: it must be yours, and nobody else's to write (`chmod 700 "
			 "%s`): who can write it says where your commands go",
		    folder, folder);
		return -1;
	}
	if (lock_folder(up, folder) == -1)
		return -1;
	if (run_folder_new(&up->sockets) == -1) {
		complain("/tmp: %s", strerror(errno));
		return -1;
	}
	up->fleet = (struct fleet_file){ .redis = arena_printf(up->arena,
					     "unix://%s/redis", up->sockets.path),
		.brokers = endpoints(up, "broker"),
		.statuses = endpoints(up, "status"),
		.key = whole_path(up, up->settings->common.key),
		.models = whole_path(up, up->settings->models),
		.pid = getpid() };
	return 0;
}

static void
on_signal(uv_signal_t *handle, int number)
{
	struct up *up = handle->data;

	/* A terminal that goes may say so twice. */
	if (up->ending && number != SIGHUP) {
		printf("ending it at once\n");
		fflush(stdout);
		supervisor_hurry(up->supervisor);
	}
	up->ending = true;
	fiber_cancel(up->fiber);
}

static void
hear_signal(struct up *up, uv_signal_t *handle, int number)
{
	uv_signal_init(loop_uv(session_loop(up->session)), handle);
	handle->data = up;
	uv_signal_start(handle, on_signal, number);
}

/* The terminal that is closed ends us as Ctrl-C does, unless nohup says otherwise. */
static void
hear_signals(struct up *up)
{
	struct sigaction now;

	up->fiber = fiber_current();
	hear_signal(up, &up->interrupt, SIGINT);
	hear_signal(up, &up->terminate, SIGTERM);
	if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		hear_signal(up, &up->hangup, SIGHUP);
	else
		uv_signal_init(loop_uv(session_loop(up->session)), &up->hangup);
}

static void
hear_no_signals(struct up *up)
{
	uv_close((uv_handle_t *)&up->interrupt, NULL);
	uv_close((uv_handle_t *)&up->terminate, NULL);
	uv_close((uv_handle_t *)&up->hangup, NULL);
	fiber_shield(true);
	fiber_sleep(2); /* the loop closes the handles, which are on our stack */
	fiber_shield(false);
}

static enum status
serve(struct up *up)
{
	if (session_load_models(up->session, NULL) != STATUS_OK || start_fleet(up) == -1)
		return STATUS_FAILED;
	if (fleet_file_write(up->settings->folder, &up->fleet) == -1) {
		complain("%s/" FLEET_FILE ": %s", up->settings->folder, strerror(errno));
		return STATUS_FAILED;
	}
	if (apply_agents(up) == -1 || start_serve(up) == -1)
		return STATUS_FAILED;
	tell(up);
	sd_notify(0, "READY=1");
	while (fiber_sleep(1000) == 0)
		continue;
	return STATUS_OK;
}

static enum status
run_up(struct session *session, const void *given, const char *const *rest)
{
	struct up up = {
		.session = session, .settings = given, .arena = session_arena(session)
	};
	enum status status;

	(void)rest;
	status = up_settings_check(up.arena, up.settings);
	if (status != STATUS_OK)
		return status;
	if (make_folders(&up) == -1)
		return STATUS_FAILED;
	up.supervisor = supervisor_new(session_loop(session), up.sockets.path);
	if (up.supervisor == NULL) {
		complain("%s: %s", up.sockets.path, strerror(errno));
		close(up.lock);
		run_folder_remove(&up.sockets);
		return STATUS_FAILED;
	}
	hear_signals(&up);
	session_at(session, &up.fleet);
	status = serve(&up);
	up.ending = true;
	if (supervisor_alive(up.supervisor) > 0) {
		printf("ending the fleet%s\n",
		    status == STATUS_OK
			? ": what runs may end; Ctrl-C again ends it at once"
			: "");
		fflush(stdout);
	}
	session_disconnect(session);
	supervisor_stop(up.supervisor, KILL_MS);
	fleet_file_remove(up.settings->folder);
	close(up.lock);
	supervisor_destroy(&up.supervisor);
	hear_no_signals(&up);
	run_folder_remove(&up.sockets);
	return status;
}

const struct command command_up = {
	.name = "up",
	.usage = "",
	.summary = "starts a whole fleet here and runs until Ctrl-C",
	.text = "Starts a private Redis on a socket, brokers, coordinators and workers "
		"as child "
		"processes; starts again what dies; ends them in order on Ctrl-C. "
		"Redis's data "
		"stay in .flotilla/data. Other commands in this folder find the fleet by "
		"themselves.",
	.table = up_table,
	.settings_size = sizeof(struct up_settings),
	.arguments_max = 0,
	.keyless = true, /* its children have them */
	.run = run_up,
};
