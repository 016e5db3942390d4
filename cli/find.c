#include "find.h"

enum status
find_argument(const char *argument, const char *what)
{
	if (argument != NULL)
		return STATUS_OK;
	complain("which %s?", what);
	return STATUS_USAGE;
}

enum status
find_thread_of(struct session *session, const char *run, const char **thread_r)
{
	enum store_status status;

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_run_thread(
	    session_store(session), session_arena(session), run, thread_r);
	if (status == STORE_NONE) {
		complain("run '%s' is not known; `flotilla runs` lists the newest", run);
		return STATUS_NOT_FOUND;
	}
	return status == STORE_OK ? STATUS_OK
				  : (enum status)session_store_failed(session, status);
}

enum status
find_outcome(struct session *session, enum store_status status, const char *thread)
{
	if (status == STORE_OK)
		return STATUS_OK;
	if (status != STORE_NONE)
		return (enum status)session_store_failed(session, status);
	complain("thread '%s' is not known", thread);
	return STATUS_NOT_FOUND;
}
