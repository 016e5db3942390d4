#include "seat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fiber.h"
#include "memory.h"

#define SEATS_MAX 1000u             /* that wait */
#define SEATS_BYTES_MAX (64u << 20) /* of what they keep */
#define SEAT_MS (UINT64_C(15) * 60 * 1000)

/* A call that waits for a chain, on the stack of its fiber. */
struct sitting {
	struct worker_call *call;
	struct fiber *fiber;
	const struct value *
	    body; /* its RESULT's, in the call's arena: then the seat is not its any more */
};

/* One chain. Its fiber owns it, and frees it at its end. */
struct seat {
	struct seats *seats;
	struct seat_work work;
	struct arena *arena;
	const struct value *profile, *request; /* in arena */
	struct fiber *fiber;                   /* the chain's, until it has ended */
	struct sitting *sitting;               /* the call that is there, or NULL */
	const struct value *came;              /* what it has brought, if it goes on */
	size_t index;                          /* of the child it asks for */
	char *next; /* the id of the call that goes on; or NULL */
	size_t bytes;
	struct timer *timer;
	TAILQ_ENTRY(seat) waiting; /* with next; the longest first */
};

struct seats {
	struct loop *loop;
	TAILQ_HEAD(, seat) waiting;
	size_t count, bytes; /* of those */
	size_t fibers;       /* that have not ended */
	bool is_closed;
	void (*ended)(void *arg); /* seats_end's, or NULL */
	void *arg;
	char *worker;
};

struct seats *
seats_new(struct loop *loop, const char *worker)
{
	struct seats *seats = xcalloc(1, sizeof *seats);

	seats->loop = loop;
	seats->worker = xstrdup(worker);
	TAILQ_INIT(&seats->waiting);
	return seats;
}

void
seats_destroy(struct seats **seats_p)
{
	if (*seats_p == NULL)
		return;
	free((*seats_p)->worker);
	free(*seats_p);
	*seats_p = NULL;
}

/* It waits no longer: somebody goes on with it, or nobody will. */
static void
leave(struct seat *seat)
{
	struct seats *seats = seat->seats;

	TAILQ_REMOVE(&seats->waiting, seat, waiting);
	seats->count--;
	seats->bytes -= seat->bytes;
	timer_stop(&seat->timer);
	free(seat->next);
	seat->next = NULL;
}

/* Its place is lost: the wait of its chain fails, and the chain with it. A shield does not keep it. */
static void
lose(struct seat *seat)
{
	leave(seat);
	fiber_cancel(seat->fiber);
	fiber_wake(seat->fiber);
}

static struct seat *
find(const struct seats *seats, const char *next)
{
	struct seat *seat;

	TAILQ_FOREACH(seat, &seats->waiting, waiting)
		if (strcmp(seat->next, next) == 0)
			break;
	return seat;
}

void
seats_close(struct seats *seats)
{
	seats->is_closed = true;
	while (!TAILQ_EMPTY(&seats->waiting))
		lose(TAILQ_FIRST(&seats->waiting));
}

void
seats_end(struct seats *seats, void (*ended)(void *arg), void *arg)
{
	seats->ended = ended;
	seats->arg = arg;
	if (seats->fibers == 0)
		ended(arg);
}

static void
on_time(void *arg)
{
	lose(arg);
}

static void
seat_free(struct seat *seat)
{
	struct arena *arena = seat->arena;

	seat->work.done(seat->work.job);
	free(seat);
	arena_destroy(&arena);
}

/* --- the chain's fiber ---------------------------------------------------------------- */

/* "r1.2.0" asks for its first child and "r1.2.0+1" goes on with it (docs/protocol.md, "Children"), and with
 * that of "r1.2.0~1", which took its place. A run's own id may have such characters, as those of tenants have ("acme~r1"). */
static char *
id_of_next(const char *id, size_t index)
{
	const char *last = strrchr(id, '.'), *from = last == NULL ? id : last;
	size_t size = (size_t)(from - id) + strcspn(from, "+~");
	char *next = xcalloc(1, size + sizeof "+18446744073709551615");

	snprintf(next, size + sizeof "+18446744073709551615", "%.*s+%zu", (int)size, id,
	    index + 1);
	return next;
}

/* A call is there. */
static void
attach(struct seat *seat, struct sitting *sitting)
{
	seat->sitting = sitting;
	seat->work.attach(seat->work.job, sitting->call);
}

/* The call that is there has its answer. */
static void
detach(struct seat *seat, const struct value *body)
{
	struct sitting *sitting = seat->sitting;

	seat->sitting = NULL;
	sitting->body = body;
	fiber_wake(sitting->fiber);
	seat->work.attach(seat->work.job, NULL);
}

const struct value *
seat_await(struct seat *seat, const struct value *ask, size_t index)
{
	struct seats *seats;
	struct arena *arena;
	struct seat *before;

	if (seat == NULL) /* it runs on its call's own fiber */
		return NULL;
	seats = seat->seats;
	seat->bytes = arena_bytes(seat->arena);
	if (seats->is_closed || fiber_cancelled() || seat->bytes > SEATS_BYTES_MAX)
		return NULL;
	while (seats->count >= SEATS_MAX || seats->bytes + seat->bytes > SEATS_BYTES_MAX)
		lose(TAILQ_FIRST(&seats->waiting));
	seat->next = id_of_next(seat->sitting->call->header->call_id, index);
	before = find(seats, seat->next);
	if (before != NULL) /* the same call, which was sent once more */
		lose(before);
	seat->index = index;
	seat->came = NULL;
	seat->timer = timer_start(seats->loop, SEAT_MS, 0, on_time, seat);
	TAILQ_INSERT_TAIL(&seats->waiting, seat, waiting);
	seats->count++;
	seats->bytes += seat->bytes;
	arena = seat->sitting->call->arena;
	detach(seat, value_map(arena, "child", value_copy(arena, ask), "kept_by",
			 value_str(arena, seats->worker), NULL));
	while (seat->next != NULL && fiber_wait() == 0)
		;
	/* Lost: what the chain still does is nobody's. */
	return seat->came;
}

static void
seat_main(void *arg)
{
	struct seat *seat = arg;
	struct seats *seats = seat->seats;
	const struct value *body = seat->work.run(
	    seat->work.job, seat, seat->arena, seat->profile, seat->request);

	if (seat->sitting != NULL)
		detach(seat, value_copy(seat->sitting->call->arena, body));
	seat_free(seat);
	seats->fibers--;
	if (seats->fibers == 0 && seats->ended != NULL)
		seats->ended(seats->arg);
}

/* --- a call's fiber -------------------------------------------------------------------- */

/* Waits for its answer: the chain has ended, or wants a child. */
static const struct value *
sit(struct seat *seat, struct sitting *sitting)
{
	bool is_stopped = false;

	while (sitting->body == NULL) {
		/* Behind its answer there may be no chain any more, or one that is nobody's. */
		if (fiber_wait() == 0 || is_stopped || sitting->body != NULL)
			continue;
		is_stopped = true;
		fiber_cancel(seat->fiber);
		fiber_shield(true);
	}
	if (is_stopped)
		fiber_shield(false);
	return sitting->body;
}

const struct value *
seat_begin(struct seats *seats, struct worker_call *call, const struct seat_work *work)
{
	struct sitting sitting = { call, fiber_current(), NULL };
	struct seat *seat = xcalloc(1, sizeof *seat);

	seat->seats = seats;
	seat->work = *work;
	seat->arena = arena_new();
	seat->profile = value_copy(seat->arena, call->profile);
	seat->request = value_copy(seat->arena, call->request);
	attach(seat, &sitting);
	seat->fiber = fiber_start(seats->loop, "wraps", seat_main, seat);
	if (seat->fiber != NULL) {
		seats->fibers++;
		return sit(seat, &sitting);
	}
	sitting.body = value_copy(call->arena,
	    work->run(work->job, NULL, seat->arena, seat->profile, seat->request));
	seat_free(seat);
	return sitting.body;
}

/* An id is another call's, when the run that it was made of is gone and its name is given anew. */
static bool
goes_on_with(const struct seat *seat, const struct worker_call *call)
{
	struct arena *arena = call->arena;

	return value_size(value_get(call->request, "children")) == seat->index + 1 &&
	       value_equal(value_map_with(arena, call->request, "children", NULL),
		   value_map_with(arena, seat->request, "children", NULL));
}

const struct value *
seat_go_on(struct seats *seats, struct worker_call *call)
{
	struct sitting sitting = { call, fiber_current(), NULL };
	const char *id = call->header->call_id;
	struct seat *seat;

	/* Nearly no call goes on with another. */
	if (seats == NULL || strchr(id, '+') == NULL)
		return NULL;
	seat = find(seats, id);
	if (seat == NULL)
		return NULL;
	if (!goes_on_with(seat, call)) {
		lose(seat);
		return NULL;
	}
	seat->came = value_copy(
	    seat->arena, value_at(value_get(call->request, "children"), seat->index));
	leave(seat);
	attach(seat, &sitting);
	fiber_wake(seat->fiber);
	return sit(seat, &sitting);
}
