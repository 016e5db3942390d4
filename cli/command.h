/* command: one verb of `flotilla`: a file each, listed in main.c.
 *
 * A command's run function is called on a fiber with its settings parsed; it may wait. It
 * returns the exit status. Readable output on stdout for people, one JSON document (or
 * one JSON line an item, when it streams) with --json; messages about failures on stderr.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "session.h"
#include "settings.h"

/* Exit statuses that scripts can use; docs/cli.md lists them. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1, /* the run failed, or the command did */
	STATUS_USAGE = 2,
	STATUS_NOT_FOUND = 3,   /* no such run, thread, agent */
	STATUS_UNREACHABLE = 4, /* no Redis, no broker */
	STATUS_INTERRUPTED = 5, /* the run waits for an answer */
	STATUS_CANCELLED = 6,
	STATUS_REFUSED = 7, /* the submission was refused */
};

/* Every command's settings begin with this. */
struct common_settings {
	const char *redis;
	const char **brokers;
	const char **statuses;
	const char *key;        /* the file of our key pair, or NULL */
	const char *broker_key; /* the brokers' public key, or a file with it, or NULL */
	bool json;
};

/* A command's own fleet: where it is, and how to be let in. */
#define FLEET_SETTINGS                                                                   \
	{ "redis", SETTING_TEXT, offsetof(struct common_settings, redis), NULL, 0, 0,    \
		NULL,                                                                    \
		"Redis: redis://host:port, rediss:// with TLS, or unix:///path "         \
		"(default: the fleet of this folder, else redis://127.0.0.1:6379)",      \
		0 },                                                                     \
	    { "broker", SETTING_LIST, offsetof(struct common_settings, brokers), NULL,   \
		    0, 0, NULL,                                                          \
		    "a broker's endpoint; give each of several (default: the fleet of "  \
		    "this folder, else tcp://127.0.0.1:7700)",                           \
		    0 },                                                                 \
	{                                                                                \
		"status", SETTING_LIST, offsetof(struct common_settings, statuses),      \
		    NULL, 0, 0, NULL,                                                    \
		    "the status channel of a broker, in the order of --broker "          \
		    "(default: "                                                         \
		    "the fleet of this folder, else tcp://127.0.0.1:7701)",              \
		    0                                                                    \
	}
#define KEY_SETTINGS                                                                     \
	{                                                                                \
		"key", SETTING_TEXT, offsetof(struct common_settings, key), NULL, 0, 0,  \
		    NULL,                                                                \
		    "file with our key pair, where the broker wants keys (default: "     \
		    "that of the fleet of this folder)",                                 \
		    0                                                                    \
	}
#define BROKER_KEY_SETTINGS                                                              \
	{                                                                                \
		"broker-key", SETTING_TEXT,                                              \
		    offsetof(struct common_settings, broker_key), NULL, 0, 0, NULL,      \
		    "the brokers' public key, or a file with it", 0                      \
	}
#define JSON_SETTINGS                                                                    \
	{                                                                                \
		"json", SETTING_BOOL, offsetof(struct common_settings, json), NULL, 0,   \
		    0, NULL, "print JSON, for programs", 0                               \
	}
/* Of all commands but `up`, whose fleet is the one that it starts. */
#define COMMON_SETTINGS FLEET_SETTINGS, KEY_SETTINGS, BROKER_KEY_SETTINGS, JSON_SETTINGS

#define SETTINGS_END                                                                     \
	{                                                                                \
		NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0                         \
	}

#define ARGUMENTS_ANY SIZE_MAX /* of command.arguments_max */

struct command {
	const char *name;
	const char *usage;   /* of its arguments: "AGENT [TEXT]" */
	const char *summary; /* one line */
	const char *text;    /* more, for --help; may be NULL */
	const struct setting *table;
	size_t settings_size;
	size_t arguments_max; /* positional; more are refused */
	bool keyless;         /* never speaks with a broker */
	/* rest: positional arguments, NULL-ended. */
	enum status (*run)(
	    struct session *session, const void *settings, const char *const *rest);
};

/* For commands without settings of their own. */
extern const struct setting command_common_table[];

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"
#undef COMMAND

#endif
