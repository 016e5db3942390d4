#include "ledger_bench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_bench lb;

static void
drop(struct cargo *cargo)
{
	lb.cargos--;
	free(cargo);
}

void
lb_step(struct ledger_event event)
{
	size_t i;

	lb.actions = ledger_step(lb.ledger, &event, lb.now_ms);
	for (i = 0; i < lb.actions.count; i++)
		if (lb.actions.items[i].type == LEDGER_FREE)
			drop(lb.actions.items[i].cargo);
}

void
lb_up(uint32_t link)
{
	lb_step((struct ledger_event){ .type = LEDGER_UP, .link = link });
}

void
lb_down(uint32_t link)
{
	lb_step((struct ledger_event){ .type = LEDGER_DOWN, .link = link });
}

void
lb_leaving(uint32_t link)
{
	lb_step((struct ledger_event){ .type = LEDGER_LEAVING, .link = link });
}

void
lb_setup(void)
{
	char endpoint[32];
	uint32_t i;

	lb.now_ms = 5000;
	lb.cargos = 0;
	lb.body_bytes = 0;
	for (i = 0; i < LINKS; i++) {
		snprintf(endpoint, sizeof endpoint, "tcp://10.0.0.%u:7700", i);
		lb.identities[i] = rendezvous_identity(endpoint);
	}
	lb.first = rendezvous_choose(lb.identities, ALL_LINKS, RUN);
	lb.second =
	    rendezvous_choose(lb.identities, ALL_LINKS & ~LINK_BIT(lb.first), RUN);
	lb.third = LINKS - lb.first - lb.second;
	lb.ledger = ledger_new(lb.identities, LINKS, 0);
	for (i = 0; i < LINKS; i++)
		lb_up(i);
}

void
lb_teardown(void)
{
	ledger_destroy(&lb.ledger, drop);
	ck_assert_int_eq(lb.cargos, 0);
}

static void
call(const char *run, const char *id, unsigned flags)
{
	const struct header header = { .type = MSG_CALL,
		.flags = flags,
		.call_id = id,
		.run = run,
		.step = 3,
		.epoch = 7,
		.service = "tool:add",
		.deadline_ms = LB_DEADLINE_MS };
	struct cargo *cargo = malloc(sizeof *cargo);

	cargo->mark = 'c';
	lb.cargos++;
	lb_step((struct ledger_event){ .type = LEDGER_CALL,
	    .header = &header,
	    .waiter = &lb.somebody,
	    .cargo = cargo,
	    .body_bytes = lb.body_bytes });
}

void
lb_call_flagged(const char *id, unsigned flags)
{
	call(RUN, id, flags);
}

void
lb_call(const char *id)
{
	lb_call_flagged(id, 0);
}

void
lb_call_of(const char *run, const char *id)
{
	call(run, id, 0);
}

void
lb_about(enum ledger_event_type type, const char *id)
{
	lb_step((struct ledger_event){ .type = type, .id = id });
}

void
lb_message(uint32_t link, struct header header)
{
	lb_step((struct ledger_event){
	    .type = LEDGER_MESSAGE, .link = link, .header = &header });
}

void
lb_say(uint32_t link, enum message_type type, const char *id)
{
	lb_message(link, (struct header){ .type = type, .call_id = id });
}

void
lb_result(uint32_t link, const char *id, enum wire_code code)
{
	lb_message(
	    link, (struct header){ .type = MSG_RESULT, .call_id = id, .code = code });
}

void
lb_tick(uint64_t ms)
{
	lb.now_ms += ms;
	lb_step((struct ledger_event){ .type = LEDGER_TICK });
}

const struct ledger_action *
lb_find(enum ledger_action_type type)
{
	size_t i;

	for (i = 0; i < lb.actions.count; i++)
		if (lb.actions.items[i].type == type)
			return &lb.actions.items[i];
	return NULL;
}

link_set
lb_told(enum message_type type, const char *id)
{
	const struct ledger_action *action;
	link_set links = 0;
	size_t i;

	for (i = 0; i < lb.actions.count; i++) {
		action = &lb.actions.items[i];
		if (action->type == LEDGER_SEND && action->header.type == type &&
		    strcmp(action->header.call_id, id) == 0) {
			ck_assert_uint_eq(links & LINK_BIT(action->link), 0);
			links |= LINK_BIT(action->link);
		}
	}
	return links;
}

const struct ledger_action *
lb_sent_call(void)
{
	const struct ledger_action *action = lb_find(LEDGER_SEND);

	ck_assert_ptr_nonnull(action);
	ck_assert_int_eq(action->header.type, MSG_CALL);
	return action;
}

bool
lb_flagged(void)
{
	return (lb_sent_call()->header.flags & WIRE_RESEND) != 0;
}
