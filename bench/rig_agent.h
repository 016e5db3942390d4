/* rig_agent: the agent of a measurement that has other layers or longer texts than bench/agent.yaml. */
#ifndef RIG_AGENT_H
#define RIG_AGENT_H

#include "rig.h"

/* Writes its file to path. What goes wrong ends the process with a message. */
void rig_agent_write(const char *path, const struct rig_options *options);

#endif
