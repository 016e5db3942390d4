/* thread_digest: what the messages of a thread are called (proto/digest.h). A stream that goes along
 * with the thread: to append costs what is appended. */
#include <string.h>

#include "thread_private.h"

void
thread_unknow(struct thread *thread)
{
	digest_destroy(&thread->digest);
	thread->digested = thread->marked = 0;
	thread->sized = thread->packed_bytes = 0;
	thread->sound = thread->answered = 0;
}

/* Makes the name of the first count messages the mark; no more have been digested. */
static void
digest_to(struct thread *thread, size_t count)
{
	if (thread->digest == NULL)
		thread->digest = digest_new();
	digest_add(thread->digest, &thread->view, thread->digested, count);
	digest_get(thread->digest, thread->mark);
	thread->digested = thread->marked = count;
}

bool
thread_begins_with(
    struct thread *thread, size_t count, const uint8_t digest[DIGEST_BYTES])
{
	if (count == 0 || count > thread->count ||
	    (count < thread->digested && count != thread->marked))
		return false;
	if (count != thread->marked)
		digest_to(thread, count);
	return memcmp(thread->mark, digest, DIGEST_BYTES) == 0;
}

void
thread_digest(struct thread *thread, uint8_t digest_r[DIGEST_BYTES])
{
	if (thread->digest == NULL || thread->marked != thread->count)
		digest_to(thread, thread->count);
	memcpy(digest_r, thread->mark, DIGEST_BYTES);
}

size_t
thread_packed_bytes(struct thread *thread)
{
	for (; thread->sized < thread->count; thread->sized++)
		thread->packed_bytes += thread->items[thread->sized]->packed_size;
	return thread->packed_bytes;
}
