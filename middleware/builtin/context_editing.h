/* context_editing: the settings of each of its edits, for its page. */
#ifndef CONTEXT_EDITING_H
#define CONTEXT_EDITING_H

#include "middleware.h"

extern const struct option context_edit_options[];

#endif
