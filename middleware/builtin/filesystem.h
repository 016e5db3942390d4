/* filesystem: the parts of that middleware, for filesystem*.c alone; but deepagents_summarization looks for the
 * tag, and at what is shown. */
#ifndef FILESYSTEM_H
#define FILESYSTEM_H

#include "backend.h"

#define FILESYSTEM_READ_LINES 100        /* that read_file shows unless it is told */
#define FILESYSTEM_LINE_CHARACTERS 5000u /* of a line; the rest goes on below */
#define FILESYSTEM_CHARACTERS_A_TOKEN 4u
#define FILESYSTEM_ANSWER_CHARACTERS 80000u /* of ls, glob and grep */
#define FILESYSTEM_RESULTS "/large_tool_results"
#define FILESYSTEM_HISTORY "/conversation_history"
/* In additional_kwargs of a user's message that is too long and of a tool's that was: the path of the file that has
 * the whole of it. */
#define FILESYSTEM_TAG "lc_evicted_to"
#define FILESYSTEM_INTERNAL "filesystem_files" /* the tool that hooks reach a folder by */

/* NULL-ended: ls, read_file, write_file, edit_file, delete, glob, grep, execute, and the internal one. */
extern const struct tool *const filesystem_tools[];

/* --- filesystem_text.c: what is shown of a text ------------------------------------------ */

/* How many characters the size bytes at text have, which are UTF-8; and how many bytes the first `most` of
 * them have. */
size_t filesystem_characters(const char *text, size_t size);
size_t filesystem_bytes(const char *text, size_t size, size_t most);

/* The lines of content from offset on, at most limit, numbered, as read_file shows them; at most `most`
 * characters (0: any). *error_r: offset is behind the end, or NULL. */
const char *filesystem_page(struct arena *arena, const struct value *content,
    int64_t offset, int64_t limit, size_t most, const char **error_r);

/* The first and last five lines of a text, numbered, each in part. */
const char *filesystem_preview(struct arena *arena, const struct value *content);

/* text cut to FILESYSTEM_ANSWER_CHARACTERS, by whole lines where it has any, and what is said of that. */
const char *filesystem_cut(struct arena *arena, const char *text, size_t size);

/* --- filesystem_rules.c: the setting `permissions` --------------------------------------- */

enum filesystem_access {
	FILESYSTEM_ALLOW,
	FILESYSTEM_DENY,
	FILESYSTEM_INTERRUPT,
};

/* Returns what is wrong with the rules of settings, its place in front, or NULL. */
const char *filesystem_rules_flaw(struct arena *arena, const struct value *settings);

/* The rules of settings, in arena. */
struct filesystem_rules;
struct filesystem_rules *filesystem_rules_of(
    struct arena *arena, const struct value *settings);

/* What the first rule says that means to read (or write) path. */
enum filesystem_access filesystem_access(
    const struct filesystem_rules *rules, bool writes, const char *path);

/* True when a search of path and all beneath it (writes: who deletes that) may meet a path that a human is asked
 * for. */
bool filesystem_asks_beneath(
    const struct filesystem_rules *rules, bool writes, const char *path);

/* The patterns, joined, that deny to delete path; has_more: with all beneath it. NULL: none does. */
const char *filesystem_denies_delete(
    const struct filesystem_rules *rules, const char *path, bool has_more);

/* items without those whose path is denied to read. */
const struct value *filesystem_readable(
    const struct filesystem_rules *rules, const struct value *items);

/* --- filesystem_evict.c: what is too large for a context --------------------------------- */

struct tool_result *filesystem_wrap_tool_call(
    struct tool_request *request, struct tool_next *next);
const struct value *filesystem_before_agent(struct turn *turn);

/* messages with the short form of those that are tagged, and longer than settings say; NULL: of all that are
 * tagged. */
const struct value *filesystem_shown(
    struct arena *arena, const struct value *settings, const struct value *messages);

/* --- filesystem_media.c: what a provider takes ------------------------------------------- */

/* messages with words in tools' answers for images and the like that profile, of the model, says it does not take. */
const struct value *filesystem_media_taken(
    struct arena *arena, const struct value *profile, const struct value *messages);

/* messages with the images and the like of tools' answers in a message of their own behind them, for providers that
 * take text alone there. */
const struct value *filesystem_media_moved(
    struct arena *arena, const struct value *messages);

#endif
