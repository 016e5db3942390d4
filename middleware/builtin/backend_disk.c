/* Files beneath a folder. */
#include "backend_part.h"

const struct value *
backend_folder_do(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	(void)part;
	(void)op;
	return backend_refusal(backend->arena, "folders are not there yet");
}
