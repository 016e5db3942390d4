/* async_subagent_task: tasks that go on in the background, and the tools that begin, look at and end them. */
#ifndef ASYNC_SUBAGENT_TASK_H
#define ASYNC_SUBAGENT_TASK_H

#include "middleware.h"

/* {id: {task_id, agent_name, thread_id, run_id, status, created_at, last_checked_at, last_updated_at}}; merged. */
#define ASYNC_TASKS "async_tasks"
#define ASYNC_START "start_async_task"
#define ASYNC_CHECK "check_async_task"
#define ASYNC_UPDATE "update_async_task"
#define ASYNC_CANCEL "cancel_async_task"
#define ASYNC_LIST "list_async_tasks"

/* NULL-ended. */
extern const struct tool *const async_subagent_tools[];

#endif
