/* redis: commands from fibers over one pipelined connection, with one reconnect state
 * machine.
 *
 * Commands of all fibers of one turn go out together and are answered together: under
 * `appendfsync always` they share one fsync (group commit). hiredis appears in no other
 * file. */
#ifndef REDIS_H
#define REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

struct redis;

/* Returns a new client that connects (and connects again, with back-off, for ever) to
 * url: "redis://[[user]:password@]host[:port][/db]", with TLS "rediss://...[?ssl_ca_certs=FILE]"
 * (redis_tls.h has the parameters), or "unix:///path/to/socket", or several of them with commas
 * between: of those the one is used that is primary, so that a failover is a matter of connecting
 * again. NULL with a reason, lent until the next one, when url is none, or a file that it names
 * will not do. library is the source of a Redis function library loaded (FUNCTION LOAD REPLACE)
 * after each connect, or NULL. */
struct redis *redis_new(
    struct loop *loop, const char *url, const char *library, const char **error_r);

/* Takes *redis_p; commands under way end as lost. */
void redis_destroy(struct redis **redis_p);

enum redis_status {
	REDIS_OK,        /* reply_r is the answer */
	REDIS_ERROR,     /* Redis refused: reply_r is the error text (string value) */
	REDIS_LOST,      /* the connection went: whether it was done is unknown */
	REDIS_AWAY,      /* there was none all the time: it was not sent */
	REDIS_CANCELLED, /* the fiber was cancelled while waiting; the command may be done
			  */
};

/* An argument, binary-safe. */
struct redis_arg {
	const void *data;
	size_t size;
};

/* Sends one command and waits for its answer, on a fiber. The answer is copied into
 * arena: arrays, strings (VALUE_BIN: bytes are bytes), integers, nil. While the
 * connection is down, or Redis gives a passing refusal, the command waits and is tried again up
 * to wait_ms, then REDIS_AWAY (or REDIS_ERROR with what Redis said last):
 *
 *	LOADING BUSY TRYAGAIN CLUSTERDOWN              again, with back-off
 *	MISCONF OOM NOREPLICAS NOPERM                  again, slowly; see redis_refusal
 *	READONLY MASTERDOWN UNBLOCKED NOAUTH WRONGPASS on a new connection
 *	ERR Function not found                         after the library was loaded
 *
 * Redis refuses before it does anything, so trying again does nothing twice. A command whose answer was lost is not repeated: the caller knows
 * whether it may be. reply_r is set for REDIS_OK and REDIS_ERROR.
 *
 * A blocking command holds up those behind it: it wants a struct redis of its own. */
enum redis_status redis_call(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct redis_arg *args, size_t count, const struct value **reply_r);

/* The same with printf-free text: redis_text(redis, arena, wait_ms, &reply, "HGET", key,
 * f, NULL). */
enum redis_status redis_text(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct value **reply_r, const char *command, ...) __attribute__((sentinel));

/* How long an answer may take, 10,000 ms unless said: a connection that owes one for longer
 * is given up. For blocking commands, more than they block. */
void redis_allow_silence(struct redis *redis, uint64_t ms);

/* The loop that it is on. */
struct loop *redis_loop(const struct redis *redis);

/* True while connected and the library is loaded. */
bool redis_is_up(const struct redis *redis);

/* How often it came up: another number means another connection, to another server maybe. */
unsigned redis_connects(const struct redis *redis);

/* True while it is down because Redis does not let us in: a wrong password, or none. */
bool redis_is_denied(const struct redis *redis);

/* Lends what Redis says ("OOM command not allowed ...") while it refuses to write, by what the last
 * commands were told; NULL when it does not, or when nobody has asked for REFUSAL_MS. */
#define REFUSAL_MS 3000u
const char *redis_refusal(const struct redis *redis);

/* Lends a line that says what is wrong while it is not ("10.0.0.1:6379: Connection
 * refused"), until the next turn; "" while it is up. */
const char *redis_trouble(const struct redis *redis);

/* Lends the bytes of a reply string as text, or NULL. (Replies are VALUE_BIN.) */
const char *redis_reply_text(const struct value *reply);

#endif
