/* The log that the tools wrote (parts/effect.c) against what the models were told. */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "memory.h"

#define FIELD_BYTES 160

/* One effect in the world: what one call of a run is to do. */
struct effect {
	struct id_key by_call, by_key;
	const char *call; /* "run name" */
	const char *key;  /* its idempotency key; NULL: it was never begun */
	unsigned begins, ends;
	bool once;
	unsigned kept;   /* effects_kept; 0: it was not */
	unsigned number; /* of the run that has begun it last */
	enum told told;
	int64_t began_ms; /* the last time, and where */
	char worker[FIELD_BYTES];
	struct effect *next;
};

/* A run that goes on behind another one, or that one. */
struct part {
	struct id_key by_run;
	const char *of;
	unsigned number;
};

struct effects {
	struct arena *arena;
	struct id_table *by_call, *by_key, *parts;
	struct effect *first;
};

static struct effects *
effects(struct check *check)
{
	if (check->effects == NULL) {
		check->effects = xcalloc(1, sizeof *check->effects);
		check->effects->arena = arena_new();
		check->effects->by_call = id_table_new(1);
		check->effects->by_key = id_table_new(2);
		check->effects->parts = id_table_new(3);
	}
	return check->effects;
}

void
effects_release(struct check *check)
{
	if (check->effects == NULL)
		return;
	id_table_destroy(&check->effects->by_call);
	id_table_destroy(&check->effects->by_key);
	id_table_destroy(&check->effects->parts);
	arena_destroy(&check->effects->arena);
	free(check->effects);
	check->effects = NULL;
}

static bool
is_once(const char *name)
{
	static const char *const names[] = { "rent", "power", "sum", "choice", "stay",
		"dues", "fee", "wage" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static struct effect *
effect_of(struct check *check, const char *run, const char *name)
{
	struct effects *all = effects(check);
	const char *call = arena_printf(all->arena, "%s %s", run, name);
	struct effect *effect = id_table_get(all->by_call, call);

	if (effect != NULL)
		return effect;
	effect = arena_alloc(all->arena, sizeof *effect);
	effect->call = call;
	effect->once = is_once(name);
	effect->next = all->first;
	all->first = effect;
	id_table_put(all->by_call, &effect->by_call, call, effect);
	return effect;
}

void
effects_told(
    struct check *check, const char *run, const struct sort_call *call, enum told told)
{
	effect_of(check, run, call->name)->told = told;
}

/* Of all the children of run and of those that go on behind it. */
static const char *
children_of(struct check *check, const char *run)
{
	return arena_printf(effects(check)->arena, "%s-", run);
}

void
effects_goes_on(struct check *check, const char *run, const char *other, unsigned number)
{
	struct effects *all = effects(check);
	struct part *part = arena_alloc(all->arena, sizeof *part);
	const char *name = arena_strdup(all->arena, other);

	part->of = arena_strdup(all->arena, run);
	part->number = number;
	if (id_table_get(all->parts, name) == NULL)
		id_table_put(all->parts, &part->by_run, name, part);
}

void
effects_kept(
    struct check *check, const char *run, const struct sort_call *call, unsigned number)
{
	size_t i;

	if (strcmp(call->tool, SORT_TASK) != 0) {
		effect_of(check, run, call->name)->kept = number;
		return;
	}
	for (i = 0; sort_task_effects[i] != NULL; i++)
		effect_of(check, children_of(check, run), sort_task_effects[i])->kept =
		    number;
}

unsigned
effects_begun(struct check *check, const char *run)
{
	const struct effect *effect;
	size_t size = strlen(run);
	unsigned begun = 0;

	for (effect = effects(check)->first; effect != NULL; effect = effect->next)
		begun += effect->begins > 0 && strncmp(effect->call, run, size) == 0 &&
			 (effect->call[size] == ' ' || effect->call[size] == 'g');
	return begun;
}

/* --- the log ------------------------------------------------------------------------------- */

struct line {
	char what[8], run[FIELD_BYTES], call[FIELD_BYTES], name[FIELD_BYTES],
	    key[FIELD_BYTES], worker[FIELD_BYTES];
	int pid;
	long long at_ms;
};

static void
check_key(struct check *check, struct effect *effect, const struct line *line)
{
	struct effects *all = effects(check);
	const struct effect *other = id_table_get(all->by_key, line->key);

	tally(check->tally, HOLDS_ONE_EFFECT, other == NULL || other == effect,
	    "the key %s is that of %s and of %s", line->key, effect->call,
	    other != NULL ? other->call : "");
	if (effect->key != NULL) {
		tally(check->tally, HOLDS_ONE_EFFECT, strcmp(effect->key, line->key) == 0,
		    "doubled effect: %s has the keys %s and %s", effect->call,
		    effect->key, line->key);
		return;
	}
	effect->key = arena_strdup(all->arena, line->key);
	if (other == NULL)
		id_table_put(all->by_key, &effect->by_key, effect->key, effect);
}

/* When the worker died that had the call last, before it was begun again; 0: it did not. */
static int64_t
death_of(const struct check *check, const struct effect *effect, int64_t before_ms)
{
	const struct nemesis *nemesis = check->nemesis;
	size_t i;

	for (i = 0; i < nemesis->death_count; i++)
		if (strcmp(nemesis->deaths[i].name, effect->worker) == 0 &&
		    nemesis->deaths[i].at_ms >= effect->began_ms &&
		    nemesis->deaths[i].at_ms <= before_ms)
			return nemesis->deaths[i].at_ms;
	return 0;
}

/* number: of the run, behind the first one. */
static void
begin(
    struct check *check, struct effect *effect, const struct line *line, unsigned number)
{
	check->tool_starts++;
	if (effect->begins++ > 0) {
		int64_t died =
		    number == effect->number ? death_of(check, effect, line->at_ms) : 0;

		check->tool_repeats++;
		if (died > 0)
			times_add(&check->elsewhere, line->at_ms - died);
	}
	tally(check->tally, HOLDS_ONE_EFFECT, effect->kept == 0 || number < effect->kept,
	    "%s had ended, and was begun again by run %u behind it", effect->call,
	    number);
	effect->began_ms = line->at_ms;
	effect->number = number;
	snprintf(effect->worker, sizeof effect->worker, "%s", line->worker);
}

/* The calls of a run whose id was used before say so in their ids, "run-7.3.0g1": it is another one. */
static const char *
life_of(struct check *check, const struct line *line)
{
	const char *mark = strrchr(line->key, 'g');
	size_t digits = mark != NULL ? strspn(mark + 1, "0123456789") : 0;

	return digits > 0 && mark[1 + digits] == '\0'
		   ? arena_printf(effects(check)->arena, "%s%s", line->run, mark)
		   : line->run;
}

/* The run whose effect a line is, and *number_r, which one behind that has done it. A child's name is its parent's, and more. */
static const char *
run_of(struct check *check, const struct line *line, unsigned *number_r)
{
	struct effects *all = effects(check);
	const char *life = life_of(check, line);
	char *name = arena_strdup(all->arena, life), *end;
	const struct part *part = id_table_get(all->parts, name);

	*number_r = part != NULL ? part->number : 0;
	if (part != NULL)
		return part->of;
	while ((end = strrchr(name, '-')) != NULL && part == NULL) {
		*end = '\0';
		part = id_table_get(all->parts, name);
	}
	if (part == NULL)
		return life;
	*number_r = part->number;
	return children_of(check, part->of);
}

static void
read_log(struct check *check, FILE *file)
{
	struct line line;
	char text[1024];
	unsigned number;

	while (fgets(text, sizeof text, file) != NULL) {
		struct effect *effect;

		if (!tally(check->tally, HOLDS_ONE_EFFECT,
			sscanf(text, "%7s %159s %159s %159s %159s %159s %d %lld",
			    line.what, line.run, line.call, line.name, line.key,
			    line.worker, &line.pid, &line.at_ms) == 8,
			"a line of the tools' log: %s", text))
			continue;
		effect = effect_of(check, run_of(check, &line, &number), line.name);
		check_key(check, effect, &line);
		if (strcmp(line.what, "begin") == 0)
			begin(check, effect, &line, number);
		else
			effect->ends++;
	}
}

static void
check_effect(struct check *check, const struct effect *effect)
{
	if (effect->once)
		tally(check->tally, HOLDS_ONE_EFFECT, effect->begins <= 1,
		    "%s must not run twice and was begun %u times", effect->call,
		    effect->begins);
	if (effect->told == TOLD_SUCCESS)
		tally(check->tally, HOLDS_ONE_EFFECT, effect->ends > 0,
		    "%s is told to be done, and never was", effect->call);
}

void
check_effects(struct check *check)
{
	FILE *file = fopen(fleet_path(check->fleet, "effects.log"), "re");
	const struct effect *effect;

	if (!tally(check->tally, HOLDS_ONE_EFFECT, file != NULL, "no log of the tools"))
		return;
	read_log(check, file);
	fclose(file);
	for (effect = effects(check)->first; effect != NULL; effect = effect->next)
		check_effect(check, effect);
}
