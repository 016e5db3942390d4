/* service: the one shape of our long-running programs: settings, log, signals, readiness,
 * shutdown.
 *
 *	int
 *	main(int argc, char *argv[])
 *	{
 *		struct broker_settings settings;
 *		struct service *service =
 *		    service_start("broker", broker_table, &settings, argc, argv);
 *		struct broker *broker = broker_new(service_loop(service), &settings);
 *
 *		service_run(service, broker_drain, broker);
 *		broker_destroy(&broker);
 *		return service_stop(&service);
 *	}
 *
 * Every program's table begins with SERVICE_SETTINGS or SERVICE_SETTINGS_ALONE, for the fields of `struct service_settings
 * common`, the first member of its settings. */
#ifndef SERVICE_H
#define SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "loop.h"
#include "settings.h"

struct service;

struct service_settings {
	const char
	    *name; /* of this process, for people; default "<program>-<host>-<pid>" */
	const char *log_level;  /* error, warn, info, debug */
	const char *key;        /* the file of this process's key pair, or NULL */
	const char *broker_key; /* the brokers' public key, or a file with it, or NULL */
	bool core_dumps;
	int64_t stuck_ms; /* see watchdog.h; 0: no watchdog */
};

/* For one that connects to no broker. */
#define SERVICE_SETTINGS_ALONE                                                           \
	{ "name", SETTING_TEXT, offsetof(struct service_settings, name), NULL, 0, 0,     \
		NULL,                                                                    \
		"name of this process on the status channel and in logs (default: "      \
		"program-host-pid)",                                                     \
		0 },                                                                     \
	    { "log-level", SETTING_TEXT, offsetof(struct service_settings, log_level),   \
		    "info", 0, 0, NULL, "error, warn, info or debug", 0 },               \
	    { "key", SETTING_TEXT, offsetof(struct service_settings, key), NULL, 0, 0,   \
		    NULL,                                                                \
		    "file with this process's key pair (flotilla keys new); with it "    \
		    "all connections to the broker are encrypted and checked",           \
		    0 },                                                                 \
	    { "stuck-ms", SETTING_INTEGER, offsetof(struct service_settings, stuck_ms),  \
		    "15000", 0, 3600000, "ms",                                           \
		    "a process that stands still for so long ends itself with status "   \
		    "70; 0: never",                                                      \
		    0 },                                                                 \
	{                                                                                \
		"core-dumps", SETTING_BOOL,                                              \
		    offsetof(struct service_settings, core_dumps), NULL, 0, 0, NULL,     \
		    "let a crash leave a core file, which has keys in it", 0             \
	}

#define SERVICE_SETTINGS                                                                 \
	SERVICE_SETTINGS_ALONE,                                                          \
	{                                                                                \
		"broker-key", SETTING_TEXT,                                              \
		    offsetof(struct service_settings, broker_key), NULL, 0, 0, NULL,     \
		    "the brokers' public key, or a file with it", 0                      \
	}

/* Parses the settings, opens the log, switches CURVE on where there is a key, keeps what is
 * in memory to ourselves (secrecy.h), makes the loop, takes SIGTERM and SIGINT. Keeps
 * table and settings, whose first member is a struct service_settings. Until service_run
 * a signal ends the process at once: there is nothing to drain yet. */
struct service *service_start(const char *program, const struct setting *table,
    void *settings, int argc, char **argv);
/* The same, with more to say in --help than the program's name. */
struct service *service_start_as(const struct settings_help *help,
    const struct setting *table, void *settings, int argc, char **argv);

struct loop *service_loop(struct service *service);

/* Says READY=1 (sd_notify) and runs until SIGTERM or SIGINT, with a watchdog beside the loop;
 * to a supervisor that wants to hear it (WATCHDOG_USEC) the loop says WATCHDOG=1. Then calls
 * drain(arg) once (NULL: service_end): it starts the orderly end and calls service_end when
 * done. A second signal, or 60 s (the table's "drain-ms", where it has that row), ends the
 * process on the spot with status 1. */
void service_run(struct service *service, void (*drain)(void *arg), void *arg);
void service_end(struct service *service);

/* Ends the process on the spot with status 1, when a drain cannot come to its end. What is
 * under way is lost to this process, not to the fleet: others take it over. There is no way
 * to unwind it, so nothing is freed. */
_Noreturn void service_give_up(const char *why);

/* From now on SIGHUP calls reload(arg), on the loop's stack; else it ends the process. */
void service_on_reload(struct service *service, void (*reload)(void *arg), void *arg);

/* True from the first signal on. */
bool service_is_draining(const struct service *service);

/* Returns a part of whole, for two programs in one process: it has whole's loop, drains when whole does, and
 * its service_end calls ended(arg), once, where it is called. SIGHUP reloads whole and each part that has asked
 * for it. Lent until whole's service_stop; for service_loop, service_on_reload, service_is_draining and service_end
 * only. */
struct service *service_part(struct service *whole, void (*ended)(void *arg), void *arg);

/* Takes *service_p: closes loop and context, returns the exit status. */
int service_stop(struct service **service_p);
/* The same of a program whose exit status tells something. A lookup of a name that hangs ends it here, with that status. */
int service_stop_with(struct service **service_p, int status);

/* Writes 32 fresh hex digits (getrandom) and a NUL. */
void service_session(char session[33]);

#endif
