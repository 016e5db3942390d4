/* launch: hands a child program over to the starter (runtime/process/minder.h). */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "process.h"

/* Has a child started as options say, with these (lent) as its 0, 1, 2 and, unless that is -1, PROCESS_STREAM_FD. Returns our end
 * of its control, not blocking and close-on-exec; or minus an errno. Whether the program
 * could be run comes over the control. -EAGAIN: the starter has too much to do, ask again. */
int launch(
    const struct process_options *options, const int theirs[PROCESS_STREAM_FD + 1]);

#endif
