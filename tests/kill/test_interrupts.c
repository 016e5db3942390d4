/* Who dies before, while and after the questions of 50 runs are answered (asking.h). */
#include <check.h>

#include "asking.h"

TCase *tcase_interrupts(void);

/* --- before the answers ---------------------------------------------------------------- */

/* One dies while the runs come to their questions, one while all of them wait. Where a call must not
 * run twice, one that was noted and not sent yet would be told as lost, and ask nothing. */
static void
play_before(struct asking *asking)
{
	struct storm *storm = &asking->storm;
	unsigned first;

	asking_ask(asking);
	asking_wait_status(asking, "running", 1);
	first = storm_beginner(storm);
	kit_kill(storm->kit, KIT_COORDINATOR, first);
	asking_wait_asked(asking);
	kit_kill(storm->kit, KIT_COORDINATOR, 1 - first);
	kit_start(storm->kit, KIT_COORDINATOR, first);
	asking_answer(asking);
	asking_check(asking);
}

START_TEST(questions_outlive_those_who_asked_them)
{
	asking_play((struct asking){ .play = play_before }, 1);
}
END_TEST

/* --- while they are given -------------------------------------------------------------- */

/* It has claimed what the answers were sent to, and dies of it. */
static void
play_claimed(struct asking *asking)
{
	struct storm *storm = &asking->storm;

	asking_ask(asking);
	asking_wait_asked(asking);
	asking_hold(asking);
	asking_answer(asking);
	asking_wait_status(asking, "running", 1);
	storm_replace(storm, KIT_COORDINATOR, storm_busiest(storm));
	asking_let_go_on(asking);
	asking_check(asking);
}

START_TEST(answers_outlive_the_one_that_took_them)
{
	asking_play((struct asking){ .once = true, .play = play_claimed }, 1);
}
END_TEST

/* --- after they were given -------------------------------------------------------------- */

/* All of them die while the calls run that were answered. */
static void
play_answered(struct asking *asking)
{
	struct storm *storm = &asking->storm;

	asking_ask(asking);
	asking_wait_asked(asking);
	asking_answer_until_begun(asking, 0);
	kit_kill(storm->kit, KIT_COORDINATOR, 0);
	kit_kill(storm->kit, KIT_COORDINATOR, 1);
	kit_start(storm->kit, KIT_COORDINATOR, 0);
	asking_let_go_on(asking);
	asking_check(asking);
}

START_TEST(an_answered_call_outlives_the_coordinators)
{
	asking_play((struct asking){ .once = true, .play = play_answered }, 1);
}
END_TEST

static void
play_worker_dies(struct asking *asking)
{
	struct storm *storm = &asking->storm;
	unsigned lost = 0, i;

	asking_ask(asking);
	asking_wait_asked(asking);
	asking_answer_until_begun(asking, 1);
	kit_kill(storm->kit, KIT_TOOLS, 1);
	asking_let_go_on(asking);
	asking_check(asking);
	for (i = 1; i <= STORM_RUNS; i++)
		lost += asking->lost[i];
	ck_assert_msg((lost > 0) == asking->once, "%u calls are told as lost", lost);
}

START_TEST(an_answered_call_is_repeated_with_its_answer_or_told_as_lost)
{
	asking_play(
	    (struct asking){
		.once = _i == 1, .worker_dies = true, .play = play_worker_dies },
	    2);
}
END_TEST

TCase *
tcase_interrupts(void)
{
	TCase *tcase = tcase_create("interrupts");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, questions_outlive_those_who_asked_them);
	tcase_add_test(tcase, answers_outlive_the_one_that_took_them);
	tcase_add_test(tcase, an_answered_call_outlives_the_coordinators);
	tcase_add_loop_test(
	    tcase, an_answered_call_is_repeated_with_its_answer_or_told_as_lost, 0, 2);
	return tcase;
}
