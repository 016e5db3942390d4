/* shell_output: what one command of a shell wrote, made of the bytes of its two streams: lines in
 * the order of their coming, those of standard error marked, bounded; and the marker that ends it.
 * Pure. */
#ifndef SHELL_OUTPUT_H
#define SHELL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

#define SHELL_LINE_BYTES 65536u        /* longer lines are cut */
#define SHELL_TAIL_BYTES 64u           /* as much as a marker and a status */
#define SHELL_OUTPUT_BYTES (1u << 20)  /* kept of one command, whatever is allowed */
#define SHELL_ERROR_PREFIX "[stderr] " /* in front of lines of standard error */

struct shell_stream {
	struct packet line; /* of one too long its begin, and its last SHELL_TAIL_BYTES */
	bool
	    holds_empty; /* an empty line came: of the command, or of the marker behind it */
	bool has_ended; /* its marker came */
};

struct shell_output {
	/* Set before the first byte. The end of a stream is "\n<marker>:<status>\n", on standard
	 * error without the status. The newline in front is there in any case; a program in the
	 * background may write between the two. A line that has the marker elsewhere is no output:
	 * the shell shows what it runs (set -x). Nor is one that has stale, the marker before. */
	const char *marker;
	const char *stale; /* NULL: there was none */
	uint64_t lines_max, bytes_max;
	/* All is kept, as far as it can be, until shell_output_finish cuts it: what is to be hidden
	 * must be found first, and not be cut in two. */
	bool is_whole;

	struct shell_stream streams[2]; /* standard output, standard error */
	struct packet text;             /* the lines kept, a newline behind each */
	uint64_t lines, bytes;          /* that came, also those not kept */
	uint64_t lines_kept;
	bool cut_by_lines, cut_by_bytes;
	bool is_full; /* no room for more bytes */
	int status;   /* once streams[0].has_ended */
};

/* Adds bytes of a stream: 0 or 1. What comes behind the marker is dropped. */
void shell_output_add(
    struct shell_output *output, unsigned stream, const char *data, size_t size);

/* Nothing more comes: a line without its newline counts, too. */
void shell_output_end(struct shell_output *output);

/* The lines, as text, in arena; "<no output>" when there were none. */
const char *shell_output_lines(struct arena *arena, const struct shell_output *output);

/* What is shown of text, which is these lines or what became of them, in arena: cut where it is longer
 * than is allowed, and at its end what was left out. */
const char *shell_output_finish(
    struct arena *arena, struct shell_output *output, const char *text);

/* Both. */
const char *shell_output_text(struct arena *arena, struct shell_output *output);

void shell_output_release(struct shell_output *output);

#endif
