#include "bugs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum planted planted_bug;

static const char *const names[] = {
	"NOTHING",
#define BUG(name, text) #name,
#include "planted.def"
#undef BUG
};

static const struct {
	enum planted bug;
	const char *line, *instead;
} lua_bugs[] = {
	{ PLANTED_NO_FENCING, "  local is_owner = owns(head, owner, epoch, run)",
	    "  local is_owner = true" },
	{ PLANTED_NO_VERSION, "  local is_next = (head[4] or '0') == version",
	    "  local is_next = true" },
	{ PLANTED_NO_COMMIT_ID, "  if last == args[3] and (is_owner or is_end) then",
	    "  if false then" },
	{ PLANTED_RESULT_NOT_FENCED,
	    "  if not owns(head, args[2], args[3], args[4]) then", "  if false then" },
	{ PLANTED_RESULT_NO_VERSION,
	    "  if args[5] ~= '' and (head[4] or '0') ~= args[5] then",
	    "  if false then" },
	{ PLANTED_EPOCH_NOT_RAISED,
	    "  return math.max(tonumber(old or 0) + 1, tonumber(floor) + 1,",
	    "  return math.max(tonumber(old or 1), 0 *" },
	{ PLANTED_EPOCH_REUSED,
	    "  return math.max(tonumber(old or 0) + 1, tonumber(floor) + 1,",
	    "  return math.max(tonumber(old or 0) + 1, 0 *" },
	{ PLANTED_LEASE_FOREVER,
	    "  return lease_end(redis.call('HGET', prefix .. 'leases', owner), now) ~= "
	    "nil",
	    "  return redis.call('HGET', prefix .. 'leases', owner) ~= nil" },
	{ PLANTED_LEASE_IGNORED,
	    "    if holder ~= owner and lease_alive(prefix, holder, now) then",
	    "    if false then" },
	{ PLANTED_ARRIVAL_HEEDLESS, "  return (head.run or '') == '' and",
	    "  return true or" },
	{ PLANTED_SWEEP_BLIND,
	    "          others = others + 1\n          found[#found + 1] = thread",
	    "          others = others + 1" },
	{ PLANTED_RELEASE_COUNTS_RUN, "  redis.call('HINCRBY', key, 'attempts', -1)",
	    "" },
	{ PLANTED_SENT_UNSAID, "    redis.call('HSET', key, 'sent', args[5])", "" },
	{ PLANTED_GIVEN_TO_ALL,
	    "record.given and holder == args[3] and string.sub(record.given, 1, length) "
	    "== ticket then",
	    "record.given then" },
	{ PLANTED_ATTEMPTS_NOT_FENCED,
	    "  local is_its_owner = owns(head, args[2], args[3], args[4])",
	    "  local is_its_owner = true" },
	{ PLANTED_LOST_COUNTS, "    attempts = attempts - lost\n", "" },
	{ PLANTED_HOLD_FORGOTTEN, "  more[#more + 1] = 'hold'",
	    "  more[#more + 1] = 'dropped'" },
	{ PLANTED_RESULTS_LEFT, "unpack(args, first))\n  redis.call('DEL', key .. ':w')",
	    "unpack(args, first))" },
	{ PLANTED_DUE_FORGOTTEN,
	    "    redis.call('ZADD', prefix .. 'due', 'LT', "
	    "text(waiting_score(record.priority, now)), thread)",
	    "" },
	{ PLANTED_CANCELS_LEFT,
	    "  if record[1] then\n    redis.call('SREM', prefix .. 'cancels', run)\n",
	    "  if record[1] then\n" },
};

const char *
planted_name(enum planted bug)
{
	return names[bug];
}

static char *
replace(const char *text, const char *line, const char *instead)
{
	const char *at = strstr(text, line);
	size_t size = strlen(text) + strlen(instead) + 1;
	char *copy = malloc(size);

	if (at == NULL || strstr(at + 1, line) != NULL || copy == NULL) {
		fprintf(stderr,
		    "sim: store/*.lua have not exactly one line \"%s\": the bug %s "
		    "cannot be planted, mend tests/sim/bugs.c\n",
		    line, planted_name(planted_bug));
		exit(2);
	}
	snprintf(
	    copy, size, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(line));
	return copy;
}

char *
planted_library(const char *library)
{
	size_t i;

	for (i = 0; i < sizeof lua_bugs / sizeof lua_bugs[0]; i++)
		if (lua_bugs[i].bug == planted_bug)
			return replace(library, lua_bugs[i].line, lua_bugs[i].instead);
	return strdup(library);
}
