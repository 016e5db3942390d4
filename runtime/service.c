#include "service.h"

#include <assert.h>
#include <czmq.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include <uv.h>

#include "curve.h"
#include "descriptors.h"
#include "key_file.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "secrecy.h"
#include "socket.h"
#include "watchdog.h"
#include "wire.h"

#define DRAIN_MS 60000
#define HOST_BYTES_MAX 32 /* what people need to tell machines apart */
#define NAME_BYTES_MAX 64
#define NAME_GIVEN_MAX 120u /* a coordinator's store has one more behind it */

struct service {
	struct loop *loop;
	const struct setting *table;
	void *settings;
	char default_name[NAME_BYTES_MAX];
	uv_signal_t terminate;
	uv_signal_t interrupt;
	uv_signal_t hangup;
	void (*reload)(void *arg);
	void *reload_arg;
	void (*drain)(void *arg);
	void *arg;
	struct timer *deadline;
	struct timer *sign_of_life;
	bool hears_hangup;
	bool is_running;
	bool is_draining;
	SLIST_HEAD(, service) parts;
	struct service *whole; /* of a part: what it is a part of */
	SLIST_ENTRY(service) sibling;
	void (*ended)(void *arg);
	void *ended_arg;
};

static enum log_level
read_log_level(const char *program, const char *text)
{
	static const char *const names[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARN] = "warn",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(text, names[i]) == 0)
			return (enum log_level)i;
	}
	settings_refuse(program, "--log-level", text, "error, warn, info or debug");
}

/* Returns the table's row of that name, or NULL. */
static const struct setting *
find_row(const struct setting *table, const char *name)
{
	const struct setting *row;

	for (row = table; row->name != NULL; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

static uint64_t
drain_ms(const struct service *service)
{
	const struct setting *row = find_row(service->table, "drain-ms");

	if (row == NULL || row->type != SETTING_INTEGER)
		return DRAIN_MS;
	return (uint64_t) *
	       (const int64_t *)((const char *)service->settings + row->offset);
}

/* --- the end ------------------------------------------------------------------------ */

_Noreturn void
service_give_up(const char *why)
{
	log_warnx("ends at once: %s", why);
	_exit(EXIT_FAILURE);
}

static void
on_deadline(void *arg)
{
	(void)arg;
	service_give_up("the drain took too long");
}

static void
start_drain(struct service *service)
{
	uint64_t most_ms = drain_ms(service);
	char state[64];

	service->is_draining = true;
	service->deadline = timer_start(service->loop, most_ms, 0, on_deadline, service);
	/* Who supervises us gives us that long. */
	snprintf(state, sizeof state, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64,
	    most_ms * 1000);
	notify(state);
	if (service->drain != NULL)
		service->drain(service->arg);
	else
		service_end(service);
}

static void
on_signal(uv_signal_t *handle, int number)
{
	struct service *service = handle->data;

	log_info("signal %s", strsignal(number));
	if (!service->is_running)
		_exit(EXIT_SUCCESS);
	if (service->is_draining)
		service_give_up("a second signal");
	start_drain(service);
}

static void
on_hangup(uv_signal_t *handle, int number)
{
	struct service *service = handle->data, *part;

	log_info("signal %s", strsignal(number));
	if (service->reload != NULL)
		service->reload(service->reload_arg);
	SLIST_FOREACH(part, &service->parts, sibling)
		if (part->reload != NULL)
			part->reload(part->reload_arg);
}

static void
catch_signal(
    struct service *service, uv_signal_t *handle, int number, uv_signal_cb on_caught)
{
	uv_signal_init(loop_uv(service->loop), handle);
	handle->data = service;
	if (uv_signal_start(handle, on_caught, number) != 0)
		fatalx("signal %d cannot be caught", number);
}

/* --- the life of a process ---------------------------------------------------------- */

/* Process ids alone do not tell machines or containers apart: in each of these they begin
 * at 1. Only the first label, since a dot divides topics of the status channel. */
static void
name_after_place(char *name, size_t size, const char *program)
{
	char host[HOST_BYTES_MAX + 1] = "";

	if (gethostname(host, sizeof host - 1) == -1 && errno != ENAMETOOLONG)
		host[0] = '\0';
	host[strcspn(host, ".")] = '\0';
	if (!wire_is_id(host, HOST_BYTES_MAX))
		host[0] = '\0';
	snprintf(name, size, "%s-%s%s%ld", program, host, *host != '\0' ? "-" : "",
	    (long)getpid());
}

/* The messages that open a session have it: with one that they may not have no peer would ever be let in,
 * or let in a broker's. */
static void
check_name(const char *program, const char *name)
{
	if (!wire_is_id(name, NAME_GIVEN_MAX))
		settings_refuse(program, "--name", name,
		    "1 to 120 printable ASCII characters without spaces");
}

static void
open_log(struct service *service, const char *program)
{
	struct service_settings *common = service->settings;

	if (common->name == NULL || *common->name == '\0') {
		name_after_place(
		    service->default_name, sizeof service->default_name, program);
		common->name = service->default_name;
	}
	check_name(program, common->name);
	log_open(common->name, read_log_level(program, common->log_level));
}

/* Who connects to brokers has to know theirs, or anybody could be one. */
static void
open_keys(const struct service *service, const char *program)
{
	const struct service_settings *common = service->settings;
	bool connects = find_row(service->table, "broker") != NULL;
	const char *error;

	if (common->key == NULL && common->broker_key != NULL && connects)
		settings_refuse(program, "--broker-key",
		    key_file_shown(common->broker_key),
		    "given together with --key FILE, this process's own pair");
	if (common->key == NULL)
		return;
	if (common->broker_key == NULL && connects)
		settings_refuse(program, "--key", key_file_shown(common->key),
		    "given together with --broker-key, the broker's public key");
	if (curve_open(common->key, connects ? common->broker_key : NULL, &error) == -1)
		fatalx("--key%s: %s", connects ? ", --broker-key" : "", error);
	log_info("keys on public=%s", curve_public_key());
}

/* A connection is a descriptor, and the soft limit is a thousand for old programs' sake.
 * Strangers at the door take some, until their handshake is over. */
static void
take_all_descriptors(void)
{
	const char *wrong = descriptors_take(DESCRIPTORS_ALL);

	if (wrong != NULL)
		fatalx("%s", wrong);
}

/* Woken, we let whoever runs finish its slice: messages come in batches then, and a run of a
 * fleet costs a tenth less. libzmq's threads, which do not exist yet, inherit it; child
 * programs, whose starter exists, do not. An operator's own choice stays. */
static void
take_turns(void)
{
	const struct sched_param none = { 0 };

	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

struct service *
service_start(const char *program, const struct setting *table, void *settings, int argc,
    char **argv)
{
	const struct settings_help help = { .program = program };

	return service_start_as(&help, table, settings, argc, argv);
}

struct service *
service_start_as(const struct settings_help *help, const struct setting *table,
    void *settings, int argc, char **argv)
{
	struct service *service = xcalloc(1, sizeof *service);

	service->table = table;
	service->settings = settings;
	settings_parse(table, settings, help, argc, argv, NULL);
	open_log(service, help->program);
	take_all_descriptors();
	take_turns();
	secrecy_begin(((struct service_settings *)settings)->core_dumps);
	open_keys(service, help->program);
	zsys_handler_set(NULL); /* czmq would take the signals for itself */
	service->loop = loop_new();
	if (service->loop == NULL)
		fatal("no event loop");
	catch_signal(service, &service->terminate, SIGTERM, on_signal);
	catch_signal(service, &service->interrupt, SIGINT, on_signal);
	return service;
}

struct loop *
service_loop(struct service *service)
{
	return service->loop;
}

void
service_on_reload(struct service *service, void (*reload)(void *arg), void *arg)
{
	struct service *whole = service->whole != NULL ? service->whole : service;

	assert(service->reload == NULL);
	service->reload = reload;
	service->reload_arg = arg;
	if (!whole->hears_hangup)
		catch_signal(whole, &whole->hangup, SIGHUP, on_hangup);
	whole->hears_hangup = true;
}

bool
service_is_draining(const struct service *service)
{
	return (service->whole != NULL ? service->whole : service)->is_draining;
}

struct service *
service_part(struct service *whole, void (*ended)(void *arg), void *arg)
{
	struct service *part = xcalloc(1, sizeof *part);

	part->loop = whole->loop;
	part->whole = whole;
	part->ended = ended;
	part->ended_arg = arg;
	SLIST_INSERT_HEAD(&whole->parts, part, sibling);
	return part;
}

/* A loop that stands still says nothing, and the supervisor notices. */
static void
on_sign_of_life(void *arg)
{
	(void)arg;
	notify("WATCHDOG=1");
}

static void
run_watched(struct service *service)
{
	const struct service_settings *common = service->settings;
	uint64_t life_ms = notify_watchdog_ms();
	struct watchdog *watchdog = NULL;

	if (common->stuck_ms > 0) {
		watchdog = watchdog_start(service->loop, (uint64_t)common->stuck_ms);
		if (watchdog == NULL)
			log_warn("there is no watchdog");
	}
	if (life_ms > 0)
		service->sign_of_life =
		    timer_start(service->loop, 0, life_ms, on_sign_of_life, NULL);
	loop_run(service->loop);
	watchdog_stop(&watchdog);
}

void
service_run(struct service *service, void (*drain)(void *arg), void *arg)
{
	service->drain = drain;
	service->arg = arg;
	service->is_running = true;
	sd_notify(0, "READY=1");
	log_info("ready");
	run_watched(service);
}

void
service_end(struct service *service)
{
	if (service->whole != NULL)
		service->ended(service->ended_arg);
	else
		loop_stop(service->loop);
}

int
service_stop_with(struct service **service_p, int status)
{
	struct service *service = *service_p, *part;
	bool is_over;

	while ((part = SLIST_FIRST(&service->parts)) != NULL) {
		SLIST_REMOVE_HEAD(&service->parts, sibling);
		free(part);
	}
	timer_stop(&service->deadline);
	timer_stop(&service->sign_of_life);
	uv_close((uv_handle_t *)&service->terminate, NULL);
	uv_close((uv_handle_t *)&service->interrupt, NULL);
	if (service->hears_hangup)
		uv_close((uv_handle_t *)&service->hangup, NULL);
	socket_end(status);
	curve_close();
	is_over = loop_destroy(&service->loop);
	settings_release(service->table, service->settings);
	free(service);
	*service_p = NULL;
	log_info("ended");
	if (is_over)
		return status;
	fflush(stdout);
	_exit(status);
}

int
service_stop(struct service **service_p)
{
	return service_stop_with(service_p, EXIT_SUCCESS);
}

void
service_session(char session[33])
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		fatal("getrandom");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(session + 2 * i, 3, "%02x", bytes[i]);
}
