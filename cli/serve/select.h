/* select: what of a list a client wants: which items, which fields of them (`select` of body or query). */
#ifndef SELECT_H
#define SELECT_H

#include "api.h"

/* The fields that there are, by what is asked for; ".*" behind one: parts of it may be named, "values.messages". */
#define SELECT_ASSISTANT                                                                 \
	"assistant_id graph_id name description config context created_at updated_at "   \
	"metadata version"
#define SELECT_THREAD                                                                    \
	"thread_id created_at updated_at state_updated_at metadata config context "      \
	"status values interrupts"
#define SELECT_STATE                                                                     \
	"values values.* next tasks checkpoint metadata created_at parent_checkpoint "   \
	"interrupts checkpoint_id parent_checkpoint_id"
#define SELECT_RUN                                                                       \
	"run_id thread_id assistant_id created_at updated_at status metadata kwargs "    \
	"multitask_strategy cancel_reason"
#define SELECT_CRON                                                                      \
	"cron_id assistant_id thread_id end_time schedule created_at updated_at "        \
	"user_id payload next_run_date metadata now timezone enabled on_run_completed"

/* Reads it, in the call's arena: *fields_r [name], or nil: all are wanted. known: names as above, a blank
 * between two. False after answering that there is no such field. */
bool select_read(struct call *call, const char *known, const struct value **fields_r);

/* What of item, a map, is wanted, in arena. A field that it does not have is left out. */
const struct value *select_fields(
    struct arena *arena, const struct value *item, const struct value *fields);

/* What the body of a search may ask for, and of which type it is. */
struct select_filter {
	const char *name;
	enum value_type type;
};
/* Whether the body is a map, and each that is there, and not null, is of its type, a map with few names. False after
 * answering what is not. */
bool select_check(struct call *call, const struct select_filter *filters, size_t count);

/* Whether there, a map, has all of wanted's pairs: what a search asks for. A map has another when it has all of that, an array
 * when each item of the other is one of its own, or has it. wanted nil: nothing is. On a fiber: of what is large others have
 * their turn in between, and where that was cancelled it is false. */
bool select_matches(const struct value *there, const struct value *wanted);

/* The order of a list: sort_by and sort_order of the body. */
struct select_order {
	const char *by;
	bool is_ascending;
};
/* Reads it; known: by what there are, a blank between two, the first where nothing is said. False after answering that there is
 * no such order. */
bool select_order_read(
    struct call *call, const char *known, struct select_order *order_r);

/* Tells in the answer's head how many there are, and, but for 0, with which offset the next are asked for. */
void select_pages(struct call *call, uint64_t total, uint64_t next);

/* The names of a list of the query (call_list), in arena. */
const struct value *select_split(struct arena *arena, const char *text);

#endif
