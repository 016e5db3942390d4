/* store_private: what the files of store/ share. */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include <sys/queue.h>

#include "embed.h"
#include "store_past.h"

struct store {
	struct redis *redis;
	uint64_t wait_ms;
	char *session, *name;  /* whom claims are for; or NULL */
	uint64_t epoch_newest; /* of our claims */
	unsigned replicas;     /* that must have a commit; 0: none */
	uint64_t replicas_ms;
	unsigned lacking;  /* commits that wait for more of them */
	struct warm *warm; /* what claims need not read, or NULL */
	embed_fn *embed;   /* or NULL: coordinators are asked */
	void *embed_arg;
	TAILQ_HEAD(, embedding) embeddings; /* under way (item_vectors.c) */
	bool gone; /* the last failure was for no answer of Redis */
	char error[512];
};

/* A command under construction: binary-safe arguments that live in the arena. */
struct command {
	struct arena *arena;
	struct redis_arg *args;
	size_t count, room;
};
void command_add(struct command *command, const void *data, size_t size);
void command_text(struct command *command, const char *text);
void command_uint(struct command *command, uint64_t number);
/* value's msgpack bytes; NULL: an empty argument. */
void command_value(struct command *command, const struct value *value);
/* A text or binary value as its bytes, any other packed. */
void command_raw(struct command *command, const struct value *value);
/* Names and values of a map, each as command_raw. */
void command_fields(struct command *command, const struct value *fields);
/* FCALL function 1 key, prefix of shard. */
void command_function(
    struct command *command, const char *function, const char *key, unsigned shard);

/* FCALL fl_arrive 3 its keys, prefix of its shard. */
void command_arrival(struct command *command, const struct store_newcomer *comer);

/* Sends the command. Returns STORE_OK with the reply, STORE_CANCELLED, STORE_DAMAGED (a key is
 * of a wrong type) or STORE_FAILED (the reason is kept for store_error). lost_r, if given, is set when the answer was
 * lost. */
enum store_status store_send(struct store *store, const struct command *command,
    const struct value **reply_r, bool *lost_r);

/* Sends a read: a lost answer is asked for again. */
enum store_status store_read(
    struct store *store, const struct command *command, const struct value **reply_r);
/* The same of a deletion. *again_r: it was asked for again, and what was lost may have said that it was there. */
enum store_status store_ask(struct store *store, const struct command *command,
    const struct value **reply_r, bool *again_r);

enum store_status store_fail(struct store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Keeps the reason for store_error. Returns STORE_DAMAGED. */
enum store_status store_damaged(struct store *store, const char *reason);

/* Whether order is [[first, last], ...], ranges of numbers of messages. */
bool store_is_order(const struct value *order);

/* [name, bytes, ...] as Redis answers HGETALL to a map; values stay VALUE_BIN, or are
 * decoded. */
const struct value *store_pairs(
    struct arena *arena, const struct value *flat, bool decode);

/* A run's or thread's hash, as HGETALL answers it, to a map of typed values. */
const struct value *store_record(struct arena *arena, const struct value *flat);

/* The version that a thread with this hash is put back to, since a rollback is decided that nobody has done yet and the run
 * that it undoes is over; -1: it is not. */
int64_t store_put_back(const struct value *head);

/* True when a function's answer, an array, begins with word. */
bool store_answers(const struct value *reply, const char *word);
/* The number or text at index of an answer; 0 or NULL when it is none. */
int64_t store_number_at(const struct value *reply, size_t index);
const char *store_text_at(const struct value *reply, size_t index);

/* store_bind_run; *is_new_r: nobody had given the run a name before. */
enum store_status store_bind(struct store *store, struct arena *arena, const char *run,
    const char *thread, const char **other_r, bool *is_new_r);

/* The texts of an answer, without what is none. */
const struct value *store_texts(struct arena *arena, const struct value *reply);

/* What a submission's answer says, as store_submit does. */
enum store_status store_submitted(struct store *store, const struct value *reply);

/* Fails with what Redis answered: a reply that none of our functions gives, from a damaged
 * key or another library. Nothing may be concluded from it. */
enum store_status store_odd(struct store *store, const struct value *reply);

/* Decodes bytes of a reply; NULL when they are none of ours. */
const struct value *store_decode(struct arena *arena, const struct value *bytes);

#endif
