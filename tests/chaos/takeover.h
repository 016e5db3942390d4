/* takeover: how long it takes until others do what a dead process was doing. Coordinators and
 * tool workers are killed in turn, each in a fleet that is whole and at work, and nothing else
 * goes wrong; checker_history and checker_effects find the times in what was written. */
#ifndef TAKEOVER_H
#define TAKEOVER_H

#include "nemesis.h"

/* Kills so many coordinators and as many tool workers; on a fiber. */
void takeover_attack(struct nemesis *nemesis, unsigned kills);

#endif
