#include "service.h"

#include <assert.h>
#include <czmq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "log.h"
#include "memory.h"
#include "socket.h"

#define DRAIN_MS 60000
#define NAME_BYTES_MAX 64

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
	bool is_running;
	bool is_draining;
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

static uint64_t
drain_ms(const struct service *service)
{
	const struct setting *row;

	for (row = service->table; row->name != NULL; row++) {
		if (strcmp(row->name, "drain-ms") == 0 && row->type == SETTING_INTEGER)
			return (uint64_t) *
			       (const int64_t *)((const char *)service->settings +
						 row->offset);
	}
	return DRAIN_MS;
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
	service->is_draining = true;
	service->deadline =
	    timer_start(service->loop, drain_ms(service), 0, on_deadline, service);
	sd_notify(0, "STOPPING=1");
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
	struct service *service = handle->data;

	log_info("signal %s", strsignal(number));
	service->reload(service->reload_arg);
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

static void
open_log(struct service *service, const char *program)
{
	struct service_settings *common = service->settings;

	if (common->name == NULL || *common->name == '\0') {
		snprintf(service->default_name, sizeof service->default_name, "%s-%ld",
		    program, (long)getpid());
		common->name = service->default_name;
	}
	log_open(common->name, read_log_level(program, common->log_level));
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
	assert(service->reload == NULL);
	service->reload = reload;
	service->reload_arg = arg;
	catch_signal(service, &service->hangup, SIGHUP, on_hangup);
}

bool
service_is_draining(const struct service *service)
{
	return service->is_draining;
}

void
service_run(struct service *service, void (*drain)(void *arg), void *arg)
{
	service->drain = drain;
	service->arg = arg;
	service->is_running = true;
	sd_notify(0, "READY=1");
	log_info("ready");
	loop_run(service->loop);
}

void
service_end(struct service *service)
{
	loop_stop(service->loop);
}

int
service_stop(struct service **service_p)
{
	struct service *service = *service_p;

	timer_stop(&service->deadline);
	uv_close((uv_handle_t *)&service->terminate, NULL);
	uv_close((uv_handle_t *)&service->interrupt, NULL);
	if (service->reload != NULL)
		uv_close((uv_handle_t *)&service->hangup, NULL);
	socket_shutdown();
	loop_destroy(&service->loop);
	settings_release(service->table, service->settings);
	free(service);
	*service_p = NULL;
	log_info("ended");
	return EXIT_SUCCESS;
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
