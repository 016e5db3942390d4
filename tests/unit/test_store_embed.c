/* Texts that others are asked to embed, against a real Redis: who is asked, who takes it, who answers. */
#include <check.h>
#include <string.h>

#include "fiber.h"
#include "literal.h"
#include "store_trial.h"

/* Interface under test */
#include "embed.h"
#include "items.h"

TCase *tcase_store_embed(void);

/* --- asking -------------------------------------------------------------------------------- */

/* b has no model: it asks, and nobody is there who would answer. */
static void
play_nobody(void)
{
	const struct value *fault =
	    value_get(items_do(trial.b, trial.arena,
			  literal(trial.arena, "{'op': 'search', 'query': 'tea'}")),
		"fault");

	ck_assert_str_eq(value_get_text(fault, "type"), "ValueError");
	ck_assert_ptr_nonnull(strstr(value_get_text(fault, "message"), "--embed MODEL"));
	ck_assert_int_eq(trial_ask("EXISTS", STORE_EMBED)->integer, 0);
}

START_TEST(without_a_model_anywhere_it_is_refused_at_once)
{
	trial_play(play_nobody);
}
END_TEST

/* Somebody makes vectors, for as long as the test lasts. */
static void
beat(void)
{
	ck_assert_int_eq(
	    store_embed_beat(trial.a, trial.arena, value_empty_array()), STORE_OK);
	ck_assert_int_eq(trial_ask("PERSIST", "fl:embedder")->integer, 1);
}

static void
play_full(void)
{
	const struct value *fault;
	int i;

	beat();
	for (i = 0; i < 1000; i++)
		trial_ask("RPUSH", STORE_EMBED, "x");
	fault = value_get(items_do(trial.b, trial.arena,
			      literal(trial.arena, "{'op': 'search', 'query': 'tea'}")),
	    "fault");
	ck_assert_str_eq(value_get_text(fault, "type"), "ConnectionError");
	ck_assert_int_eq(trial_ask("LLEN", STORE_EMBED)->integer, 1000);
}

START_TEST(when_too_many_have_asked_it_is_refused)
{
	trial_play(play_full);
}
END_TEST

static void
search(void *arg)
{
	const struct value **answer_p = arg;

	*answer_p = items_do(trial.b, trial.arena,
	    literal(trial.arena, "{'op': 'search', 'query': 'tea'}"));
}

static void
play_leaving(void)
{
	const struct value *answer = value_nil();
	struct fiber *asker;

	beat();
	asker = fiber_start(fiber_loop(), "asker", search, &answer);
	while (trial_ask("LLEN", STORE_EMBED)->integer == 0)
		continue;
	ck_assert_uint_eq(value_size(trial_ask("KEYS", STORE_EMBED ":*")), 1);
	fiber_cancel(asker);
	while (answer != NULL)
		fiber_yield();
	ck_assert_uint_eq(value_size(trial_ask("KEYS", STORE_EMBED ":*")), 0);
}

/* Or a model would be asked for nobody. */
START_TEST(who_leaves_waits_no_more)
{
	trial_play(play_leaving);
}
END_TEST

/* --- what was asked -------------------------------------------------------------------------- */

static int
read_entry(const struct value *asked, struct embed_asked *asked_r)
{
	const struct value *packed = value_freeze(trial.arena, asked);

	return store_embed_read(trial.arena,
	    value_bin(trial.arena, packed->packed, packed->packed_size), asked_r);
}

static void
play_read(void)
{
	struct embed_asked asked;

	ck_assert_int_eq(read_entry(literal(trial.arena,
					"{'id': 'i1', 'texts': ['tea'], 'model': 'm:9'}"),
			     &asked),
	    0);
	ck_assert_str_eq(asked.id, "i1");
	ck_assert_str_eq(asked.model, "m:9");
	ck_assert_value(trial.arena, asked.texts, "['tea']");
	ck_assert_int_eq(read_entry(literal(trial.arena, "{'id': 'i1'}"), &asked), -1);
	ck_assert_int_eq(
	    read_entry(literal(trial.arena, "{'id': 1, 'texts': []}"), &asked), -1);
	ck_assert_int_eq(
	    store_embed_read(trial.arena, value_bin(trial.arena, "\xc1", 1), &asked), -1);
}

START_TEST(what_was_asked_is_read)
{
	trial_play(play_read);
}
END_TEST

static enum store_status
take(void)
{
	return store_embed_take(trial.a, trial.arena, "i1");
}

static int64_t
answer(void)
{
	ck_assert_int_eq(
	    store_embed_answer(trial.a, trial.arena, "i1", value_empty_map()), STORE_OK);
	return trial_ask("STRLEN", STORE_EMBED ":i1")->integer;
}

static void
play_asked(void)
{
	/* Nobody waits for it. */
	ck_assert_int_eq(take(), STORE_NONE);
	ck_assert_int_eq(answer(), 0);
	ck_assert_int_eq(trial_ask("EXISTS", STORE_EMBED ":i1")->integer, 0);
	trial_ask("SET", STORE_EMBED ":i1", "");
	ck_assert_int_eq(take(), STORE_OK);
	ck_assert_int_eq(answer(), 1);
	/* It is answered. */
	trial_ask("DEL", STORE_EMBED ":i1:at");
	ck_assert_int_eq(take(), STORE_NONE);
}

START_TEST(only_what_somebody_waits_for_is_answered)
{
	trial_play(play_asked);
}
END_TEST

/* Asks again, as who has waited for long does. Returns how many entries there are then. */
static int64_t
ask_again(void)
{
	trial_ask("FCALL", "fl_embed_ask", "4", STORE_EMBED, STORE_EMBED ":i1",
	    "fl:embedder", STORE_EMBED ":i1:at", "e", "90000", "1000");
	return trial_ask("LLEN", STORE_EMBED)->integer;
}

static void
play_at_it(void)
{
	const struct value *id = value_str(trial.arena, "i1");

	store_embed_beat(trial.a, trial.arena, value_array(trial.arena, &id, 1));
	ck_assert_int_eq(trial_ask("EXISTS", STORE_EMBED ":i1:at")->integer, 0);
	ck_assert_int_eq(ask_again(), 1);
	ck_assert_int_eq(take(), STORE_OK);
	/* One is at it, however long that takes. */
	trial_ask("PERSIST", STORE_EMBED ":i1:at");
	ck_assert_int_eq(take(), STORE_NONE);
	ck_assert_int_eq(ask_again(), 1);
	store_embed_beat(trial.a, trial.arena, value_array(trial.arena, &id, 1));
	ck_assert_int_gt(trial_ask("PTTL", STORE_EMBED ":i1:at")->integer, 0);
	/* It leaves. */
	store_embed_return(
	    trial.a, trial.arena, value_bin(trial.arena, "e", 1), "i1", 1000);
	ck_assert_int_eq(trial_ask("LLEN", STORE_EMBED)->integer, 2);
	ck_assert_int_gt(trial_ask("PTTL", STORE_EMBED)->integer, 0);
	ck_assert_int_eq(take(), STORE_OK);
}

START_TEST(only_one_is_at_what_was_asked)
{
	trial_play(play_at_it);
}
END_TEST

TCase *
tcase_store_embed(void)
{
	TCase *tc = tcase_create("store_embed");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, trial_open, trial_close);
	tcase_add_test(tc, without_a_model_anywhere_it_is_refused_at_once);
	tcase_add_test(tc, when_too_many_have_asked_it_is_refused);
	tcase_add_test(tc, who_leaves_waits_no_more);
	tcase_add_test(tc, what_was_asked_is_read);
	tcase_add_test(tc, only_what_somebody_waits_for_is_answered);
	tcase_add_test(tc, only_one_is_at_what_was_asked);
	return tc;
}
