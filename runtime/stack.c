#include "stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"

#if defined(__SANITIZE_ADDRESS__)
#define STACK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_ASAN 1
#endif
#endif

static size_t
guard_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* --- the switch --------------------------------------------------------------------- */

#ifdef STACK_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>

/* ASan's wrapper of swapcontext warns of itself and forgets the red zones of the whole
 * stack: these are its two halves. */
static void
swap(ucontext_t *from, const ucontext_t *to)
{
	volatile bool is_back = false;

	getcontext(from);
	if (is_back)
		return;
	is_back = true;
	setcontext(to);
}

void
stack_switch(struct stack *from, struct stack *to, bool last)
{
	__sanitizer_start_switch_fiber(last ? NULL : &from->fake, to->bytes, to->size);
	swap(&from->context, &to->context);
	__sanitizer_finish_switch_fiber(from->fake, &to->bytes, &to->size);
}

/* Here we learn where the thread's own stack is. */
void
stack_arrive(struct stack *stack, struct stack *from)
{
	(void)stack;
	__sanitizer_finish_switch_fiber(NULL, &from->bytes, &from->size);
}

/* The last frames of what ran before never returned: their red zones are still there. */
static void
forget_frames(struct stack *stack)
{
	stack->fake = NULL;
	ASAN_UNPOISON_MEMORY_REGION(stack->bytes, stack->size);
}

/* What only a suspended fiber points to is not leaked. */
static void
tell_lsan(const struct stack *stack, bool is_there)
{
	if (is_there)
		__lsan_register_root_region(stack->bytes, stack->size);
	else
		__lsan_unregister_root_region(stack->bytes, stack->size);
}
#else

void
stack_switch(struct stack *from, struct stack *to, bool last)
{
	(void)last;
	swapcontext(&from->context, &to->context);
}

void
stack_arrive(struct stack *stack, struct stack *from)
{
	(void)stack;
	(void)from;
}

static void
forget_frames(struct stack *stack)
{
	(void)stack;
}

static void
tell_lsan(const struct stack *stack, bool is_there)
{
	(void)stack;
	(void)is_there;
}
#endif

void
stack_begin(struct stack *stack, void (*enter)(void))
{
	forget_frames(stack);
	getcontext(&stack->context);
	stack->context.uc_stack.ss_sp = (void *)stack->bytes;
	stack->context.uc_stack.ss_size = stack->size;
	stack->context.uc_link = NULL;
	makecontext(&stack->context, enter, 0);
}

/* --- the memory --------------------------------------------------------------------- */

int
stack_map(struct stack *stack)
{
	size_t guard = guard_bytes();
	char *map = mmap(NULL, guard + FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (map == MAP_FAILED)
		return -1;
	if (mprotect(map, guard, PROT_NONE) == -1) {
		munmap(map, guard + FIBER_STACK_BYTES);
		return -1;
	}
	stack->bytes = map + guard;
	stack->size = FIBER_STACK_BYTES;
	tell_lsan(stack, true);
	return 0;
}

void
stack_unmap(struct stack *stack)
{
	size_t guard = guard_bytes();

	tell_lsan(stack, false);
	forget_frames(stack);
	munmap((char *)stack->bytes - guard, guard + stack->size);
	stack->bytes = NULL;
}

void
stack_cool(struct stack *stack)
{
	madvise((void *)stack->bytes, stack->size, MADV_DONTNEED);
}
