/* deepagents_summarization: what the files of that middleware share (semantics.md 6.25).
 *
 * The thread keeps all of its messages. What a model is shown of them is its *view*: a summary in place
 * of the older ones, and the others, with results of tools cut that were too long. An *event*, a field of
 * the state, says which:
 *
 *	cutoff_index     so many of the thread's messages, from the first on, are not in the view
 *	through_id       the id of the last of them. When that one is not where it was and nowhere else, the
 *	                 thread has become another one, and the event counts no more
 *	summary_message  stands for them; absent: the event only cuts results
 *	file_path        where they are to be found, absent: nowhere
 *	part             that file's number, from 1
 *	reported_before  the id of the last AI message there was: what its provider reported is of a longer view
 *	clipped          [{id, bytes, path?, unsaved?}] the tool messages that are cut, and where they are whole
 *	unsaved          {from, summary?}: of an event that a model worker made, which reaches no files. The
 *	                 messages from `from` up to cutoff_index are still to be saved when there is a summary,
 *	                 and those clipped that say so
 */
#ifndef DEEPAGENTS_SUMMARIZATION_H
#define DEEPAGENTS_SUMMARIZATION_H

#include "backend.h"
#include "summarization.h"

#define DEEP_EVENT "summarization_event"
#define DEEP_SESSION "summarization_session_id"
#define DEEP_TOOL "compact_conversation" /* and the setting that brings it */
#define DEEP_FILES_TOOL "deepagents_summarization_files" /* internal: backend.h */

/* --- the view (deepagents_summarization_view.c) ------------------------------------------ */

struct deep_view {
	const struct value *messages;
	size_t start;     /* position in the thread of the first that is not summed up */
	bool has_summary; /* messages[0] */
};

/* The view that event (or NULL) gives of a thread's messages; messages themselves when that is all of
 * them as they are. */
struct deep_view deep_view_of(
    struct arena *arena, const struct value *messages, const struct value *event);

/* Cuts long arguments of old calls that write files, when request, whose messages are view's, is as
 * long as settings (truncate_args_settings, or nil: never) say. True: view has others now. */
bool deep_view_shorten(struct arena *arena, struct deep_view *view,
    const struct value *settings, const struct token_request *request);

/* Where view is cut so that keep is left: so many of its messages become a summary. 0: none, or only
 * what is one already. */
size_t deep_view_cut(struct arena *arena, const struct deep_view *view,
    const struct value *keep, double chars);

/* Which results of tools, of messages from cut on, are to be cut so that all these take no more than room
 * tokens: [{id, bytes, path, unsaved: true}], without `unsaved` where filesystem has saved it; an empty
 * array: none. Some of each is left. */
const struct value *deep_clips(struct arena *arena, const struct value *messages,
    size_t cut, int64_t room, double chars);

/* --- the event (likewise) ----------------------------------------------------------------- */

/* The message of a summary; path: where the messages are, or NULL. */
const struct value *deep_summary_message(
    struct arena *arena, const char *summary, const char *path);

/* What a new event is made of. */
struct deep_step {
	const struct value *messages; /* the thread's */
	const struct deep_view *view; /* what there was */
	const struct value *before;   /* the event that it came from, or NULL */
	size_t cut;                   /* so many of the view's messages go; 0: none */
	const char *summary;          /* of these */
	const char *path;             /* where they are saved, or NULL */
	int64_t part;
	const struct value *clips; /* of deep_clips, or NULL */
	bool is_unsaved;
};
const struct value *deep_event(struct arena *arena, const struct deep_step *step);

/* --- what is saved (deepagents_summarization_history.c) ------------------------------------ */

/* The name of a run's conversation: session, the state's, or one made from the id of the run. */
const char *deep_session(
    struct arena *arena, const struct value *session, const char *run);

/* Where the part-th file of a session is. */
const char *deep_path(
    struct arena *arena, const struct value *settings, const char *session, int64_t part);

/* The files of a session, in a node hook. */
struct deep_history {
	struct turn *turn;
	struct backend backend;
	const char *session;
	int64_t part; /* the last file's number, from 1 */
};

void deep_history_open(
    struct deep_history *history, struct turn *turn, const struct value *event);

/* Puts messages behind what the session's last file has; history->part is then where they are. Saves
 * them once, however often it is called for the same ones in a run; base64 goes into files of its own.
 * Returns the path, of several the last one's, which names the one in front; or NULL, and a note says why. */
const char *deep_history_add(struct deep_history *history, const struct value *messages);

/* Puts text, which is the whole of what was cut, to path. False likewise. */
bool deep_history_put(struct deep_history *history, const char *path, const char *text);

/* --- settings, and the wrap (deepagents_summarization_settings.c, _overflow.c) --------------- */

extern const struct option deep_options[];
extern const struct option deep_args_options[]; /* of truncate_args_settings */

int deep_configure(struct arena *arena, struct middleware_use *use, const char **error_r);

struct model_response *deep_wrap_model_call(
    struct model_request *request, struct model_next *next);

#endif
