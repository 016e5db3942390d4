/* schema_check: the inside of the validator, shared by schema_*.c alone. */
#ifndef SCHEMA_CHECK_H
#define SCHEMA_CHECK_H

#include "pattern.h"
#include "schema.h"

#define REASONS_MAX 8u

/* Where in the instance, or in a schema, we are: links on the stack, written out when a reason
 * needs it. */
struct place {
	const struct place *parent; /* NULL: the root */
	const struct value *key;    /* of a map, or NULL */
	size_t index;               /* of a list */
};

/* What did not fit. A check without (NULL) only wants to know whether. */
struct reasons {
	const char *texts[REASONS_MAX];
	size_t count, room;
};

/* A pattern compiled for this check. Most are used again in the order in which they came. */
struct schema_pattern {
	const struct value *text;
	struct pattern *pattern;
	struct schema_pattern *next;
};

struct ref_index;

struct check {
	struct arena *arena;
	const struct value *root;
	bool ref_alone; /* draft 7 and before: keywords beside $ref do not count */
	unsigned steps, depth;
	const char *stopped; /* why the check was given up, or NULL */
	struct reasons *reasons;
	struct schema_pattern *patterns; /* in a ring: the one that was used last */
	struct ref_index *refs;          /* made at the first $ref */
};

/* One keyword of one schema against instance. */
typedef bool keyword_check(struct check *check, const struct value *schema,
    const struct value *keyword, const struct value *instance, const struct place *place);

/* What a keyword's value must be, and where in it schemas are. */
enum shape {
	SHAPE_ANY,
	SHAPE_ARRAY,
	SHAPE_BOOL,
	SHAPE_TYPE,
	SHAPE_NUMBER,
	SHAPE_FACTOR, /* a number above 0 */
	SHAPE_COUNT,  /* an integer from 0 on */
	SHAPE_TEXT,
	SHAPE_TEXTS,
	SHAPE_TEXTS_MAP,
	SHAPE_PATTERN,
	SHAPE_REF,
	SHAPE_SCHEMA,
	SHAPE_SCHEMAS,
	SHAPE_SCHEMA_MAP,
	SHAPE_PATTERN_MAP,  /* its keys are patterns */
	SHAPE_ITEMS,        /* a schema or a list of schemas */
	SHAPE_DEPENDENCIES, /* a map of schemas or lists of names */
};

struct keyword {
	const char *name;
	enum shape shape;
	keyword_check *check; /* NULL: says nothing by itself */
};

/* Returns the keyword of that name, or NULL. */
const struct keyword *keyword_find(const char *name);

/* Returns place as a JSON pointer, in arena. */
const char *place_text(struct arena *arena, const struct place *place);

/* Calls visit for each schema directly inside schema, which is at place, with its own place,
 * "/properties/a" (nobody asks: NULL). Stops when visit returns -1 and returns that, else 0. */
int schema_each(struct arena *arena, const struct value *schema,
    const struct place *place,
    int (*visit)(void *arg, const struct value *schema, const struct place *place),
    void *arg);

/* --- while checking ----------------------------------------------------------------- */

/* True when instance fits schema. */
bool check_value(struct check *check, const struct value *schema,
    const struct value *instance, const struct place *place);

/* As check_value, for schemas whose failure is no failure: no reasons are noted. */
bool check_quietly(struct check *check, const struct value *schema,
    const struct value *instance, const struct place *place);

/* Notes why instance does not fit and returns false, for the caller to return. */
bool check_fail(struct check *check, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether one more reason would be noted: else it need not be made. */
bool check_wants_reason(const struct check *check);

/* Gives the whole check up; returns false. */
bool check_stop(struct check *check, const char *reason);

/* Charges for work; false when the check was given up. */
bool check_spend(struct check *check, size_t steps);

/* Charges for a walk through the whole of value, by its bytes. */
bool check_spend_on(struct check *check, const struct value *value);

/* True when text matches pattern; false too when the check was given up. */
bool check_matches(
    struct check *check, const struct value *pattern, const struct value *text);

/* The first bytes of value as JSON, for reasons. */
const char *check_show(struct check *check, const struct value *value);

/* "an object": what JSON calls instance. */
const char *json_type_of(const struct value *instance);

/* --- numbers ------------------------------------------------------------------------ */

bool number_is_integer(const struct value *number);
/* <0, 0, >0 as a is less than, equal to, more than b; exact. */
int number_compare(const struct value *a, const struct value *b);
/* True when number is a multiple of factor (above 0) as both are written in decimal. */
bool number_is_multiple(const struct value *number, const struct value *factor);
/* Returns a count keyword's value, clamped; -1 when it is none. */
int64_t number_count(const struct value *keyword);

/* --- references --------------------------------------------------------------------- */

/* Finds what the $ref of schema means. Returns it, or NULL with a reason in arena.
 * index_p is made at the first call. */
const struct value *ref_find(struct arena *arena, struct ref_index **index_p,
    const struct value *root, bool ref_alone, const struct value *schema,
    const char **error_r);

/* True when root's dialect is draft 7 or older. */
bool ref_stands_alone(const struct value *root);

/* --- keywords ----------------------------------------------------------------------- */

keyword_check check_type, check_enum, check_const;
keyword_check check_multiple_of, check_minimum, check_maximum, check_exclusive_minimum,
    check_exclusive_maximum;
keyword_check check_min_length, check_max_length, check_pattern;
keyword_check check_items, check_prefix_items, check_additional_items, check_contains,
    check_min_items, check_max_items, check_unique_items;
keyword_check check_properties, check_pattern_properties, check_additional_properties,
    check_property_names, check_required, check_min_properties, check_max_properties,
    check_dependent_required, check_dependent_schemas, check_dependencies;
keyword_check check_all_of, check_any_of, check_one_of, check_not, check_if, check_ref;

#endif
