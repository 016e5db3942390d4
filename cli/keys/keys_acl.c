#include "keys_acl.h"

#include <stdio.h>
#include <string.h>

#include "service.h"

/* What the Lua of store/ does: a function runs with the rights of who calls it. */
#define FUNCTIONS                                                                        \
	"+fcall +time +del +exists +get +hdel +hexists +hget +hgetall "                  \
	"+hincrby +hlen +hmget +hrandfield +hset +lindex +llen +lpop "                   \
	"+lrange +lrem +lset +ltrim +pexpire +rpush +sadd +scard +set +smembers "        \
	"+smismember +srandmember +srem +xack +xadd +xdel +xpending +xrange +xrevrange " \
	"+xgroup|delconsumer +xinfo|consumers +zadd +zcard +zcount "                     \
	"+zlexcount +zmscore +zrangebylex +zrangebyscore +zrem +zrevrange +zscore"
/* And what it does for coordinators alone. */
#define READING "+xreadgroup +xautoclaim +xclaim +blpop"
/* What we ask beside that. */
#define READS "+xlen +xread"
#define HEALTH "+ping +role +select +wait +info +config|get"

/* The library is code that coordinators trust: they alone may load it. */
static const struct user {
	const char *name;
	const char *keys;
	const char *commands;
	const char *who;
} users[] = {
	{ "coordinator", "~fl:*",
	    HEALTH " " FUNCTIONS " " READING " " READS " +function|load +xgroup|create",
	    "coordinators" },
	{ "cli", "~fl:*", HEALTH " " FUNCTIONS " " READS, "the command line" },
	{ "submitter", "%W~fl:inbox", "+ping +xadd",
	    "programs of yours that submit runs (docs/submit.md)" },
};
#define USERS (sizeof users / sizeof users[0])

const char *
keys_acl_functions(void)
{
	return FUNCTIONS " " READING;
}

void
keys_acl_print(void)
{
	char passwords[USERS][33];
	size_t i;

	printf("user default off resetchannels -@all\n");
	for (i = 0; i < USERS; i++) {
		service_session(passwords[i]);
		printf("user %s on >%s %s resetchannels -@all %s\n", users[i].name,
		    passwords[i], users[i].keys, users[i].commands);
	}
	fflush(stdout);
	fprintf(stderr,
	    "Keep this as a file that only Redis can read, and start it with --aclfile "
	    "FILE.\nThe passwords belong into FLOTILLA_REDIS, not on command lines:\n");
	for (i = 0; i < USERS; i++)
		fprintf(stderr, "  redis://%s:PASSWORD@host:6379  for %s\n",
		    users[i].name, users[i].who);
	explicit_bzero(passwords, sizeof passwords);
}
