/* How a supervisor's children are ended. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fiber.h"
#include "session.h"
#include "supervisor_own.h"

#define SAY_MS 1000u /* an end that takes longer is worth a word */

static void
kill_child(struct child *child, uint64_t now, uint64_t kill_ms)
{
	child->given_up = true;
	child->end_ms = now + kill_ms;
	uv_process_kill(&child->process, SIGKILL);
}

/* The first child of the next group. */
static struct child *
behind(struct child *first)
{
	struct child *child = first->next;

	while (child != NULL && first->group != NULL && child->group != NULL &&
	       strcmp(child->group, first->group) == 0)
		child = child->next;
	return child;
}

static void
tell_group(struct child *first, const struct child *end, uint64_t kill_ms)
{
	uint64_t now = loop_now_ms(first->supervisor->loop);
	struct child *child;

	for (child = first; child != end; child = child->next) {
		timer_stop(&child->restart);
		if (!child->alive)
			continue;
		if (first->supervisor->hurried && !child->orderly) {
			kill_child(child, now, kill_ms);
			continue;
		}
		if (child->end_ms != 0)
			continue; /* somebody else has told it: twice ends it at once */
		child->end_ms = now + kill_ms;
		uv_process_kill(&child->process, SIGTERM);
	}
}

/* Kills those whose time is over. Returns true while there is one to wait for. */
static bool
is_ending(struct child *first, const struct child *end, uint64_t kill_ms)
{
	uint64_t now = loop_now_ms(first->supervisor->loop);
	struct child *child;
	bool ending = false;

	for (child = first; child != end; child = child->next) {
		if (child->alive && !child->given_up && now >= child->end_ms) {
			complain("%s does not end; killing it", child->name);
			kill_child(child, now, kill_ms);
		}
		if (child->closing || (child->alive && now < child->end_ms))
			ending = true;
	}
	return ending;
}

static void
say_waiting(const struct child *first, const struct child *end)
{
	const struct child *child;
	const char *before = "";
	uint64_t most_ms = 0;

	printf("waiting for ");
	for (child = first; child != end; child = child->next) {
		if (!child->alive)
			continue;
		printf("%s%s", before, child->name);
		before = ", ";
		if (child->drain_ms > most_ms)
			most_ms = child->drain_ms;
	}
	if (most_ms > 0)
		printf(": what runs may end, for at most %.3g s", (double)most_ms / 1000);
	printf("\n");
	fflush(stdout);
}

static void
end_group(struct child *first, const struct child *end, uint64_t kill_ms)
{
	struct loop *loop = first->supervisor->loop;
	uint64_t say_ms = loop_now_ms(loop) + SAY_MS;
	bool said = false;

	tell_group(first, end, kill_ms);
	while (is_ending(first, end, kill_ms)) {
		if (!said && !first->supervisor->hurried && loop_now_ms(loop) >= say_ms) {
			say_waiting(first, end);
			said = true;
		}
		fiber_wait_ms(50);
	}
}

void
supervisor_stop(struct supervisor *supervisor, uint64_t kill_ms)
{
	struct child *first, *end;

	fiber_shield(true);
	supervisor->stopping = true;
	supervisor->waiting = fiber_current();
	for (first = supervisor->children; first != NULL; first = end) {
		end = behind(first);
		end_group(first, end, kill_ms);
	}
	supervisor->waiting = NULL;
	fiber_shield(false);
}

void
supervisor_hurry(struct supervisor *supervisor)
{
	struct child *child;

	supervisor->stopping = supervisor->hurried = true;
	for (child = supervisor->children; child != NULL; child = child->next)
		if (child->alive && !child->orderly)
			uv_process_kill(&child->process, SIGKILL);
}
