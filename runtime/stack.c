/* It takes a jump to another stack for a mistake. */
#undef _FORTIFY_SOURCE
#include "stack.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
guard_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* --- the switch --------------------------------------------------------------------- */

static void
make_context(ucontext_t *context, const struct stack *stack, void (*enter)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = (void *)stack->bytes;
	context->uc_stack.ss_size = stack->size;
	context->uc_link = NULL;
	makecontext(context, enter, 0);
}

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
tell_sanitizer(struct stack *stack, bool is_there)
{
	if (is_there)
		__lsan_register_root_region(stack->bytes, stack->size);
	else
		__lsan_unregister_root_region(stack->bytes, stack->size);
}
#elif defined(STACK_TSAN)
#include <sanitizer/tsan_interface.h>

void
stack_switch(struct stack *from, struct stack *to, bool last)
{
	(void)last;
	if (from->fiber == NULL)
		from->fiber = __tsan_get_current_fiber();
	/* What one fiber did is over when the next goes on: all are one thread. */
	__tsan_switch_to_fiber(to->fiber, 0);
	swapcontext(&from->context, &to->context);
}

void
stack_arrive(struct stack *stack, struct stack *from)
{
	(void)stack;
	(void)from;
}

/* A new one: what ran before never returned from its last frames, which TSan would go on
 * counting. */
static void
forget_frames(struct stack *stack)
{
	if (stack->fiber != NULL)
		__tsan_destroy_fiber(stack->fiber);
	stack->fiber = __tsan_create_fiber(0);
}

static void
tell_sanitizer(struct stack *stack, bool is_there)
{
	if (!is_there && stack->fiber != NULL)
		__tsan_destroy_fiber(stack->fiber);
	stack->fiber = NULL;
}
#else

/* The context is a kilobyte that no stack keeps: it is read before the stack it lies on is
 * left. */
static __attribute__((noinline)) void
enter_stack(struct stack *stack)
{
	void (*enter)(void) = stack->enter;
	ucontext_t context;

	stack->enter = NULL;
	make_context(&context, stack, enter);
	setcontext(&context);
}

/* What swapcontext does, without asking the kernel for the signal mask, which is the same on
 * all stacks: a fifth of the time, and more where the kernel is slow. */
void
stack_switch(struct stack *from, struct stack *to, bool last)
{
	(void)last;
	if (_setjmp(from->jump) != 0)
		return;
	if (to->enter != NULL)
		enter_stack(to);
	_longjmp(to->jump, 1);
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
tell_sanitizer(struct stack *stack, bool is_there)
{
	(void)stack;
	(void)is_there;
}
#endif

void
stack_begin(struct stack *stack, void (*enter)(void))
{
	forget_frames(stack);
	stack->enter = enter;
#if defined(STACK_ASAN) || defined(STACK_TSAN)
	make_context(&stack->context, stack, enter);
#endif
}

/* --- the memory --------------------------------------------------------------------- */

int
stack_map(struct stack *stack, size_t bytes)
{
	size_t guard = guard_bytes();
	char *map = mmap(NULL, guard + bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (map == MAP_FAILED)
		return -1;
	if (mprotect(map, guard, PROT_NONE) == -1) {
		munmap(map, guard + bytes);
		return -1;
	}
	stack->bytes = map + guard;
	stack->size = bytes;
	tell_sanitizer(stack, true);
	return 0;
}

void
stack_unmap(struct stack *stack)
{
	size_t guard = guard_bytes();

	forget_frames(stack);
	tell_sanitizer(stack, false);
	munmap((char *)stack->bytes - guard, guard + stack->size);
	stack->bytes = NULL;
}

void
stack_cool(struct stack *stack)
{
	madvise((void *)stack->bytes, stack->size, MADV_DONTNEED);
}

/* Below the frames there are 128 bytes that belong to the last one (the x86-64 ABI's red zone), and
 * those of the call that gives the rest away. */
#define BELOW_BYTES 512u

void
stack_rest(struct stack *stack)
{
	uintptr_t lowest = (uintptr_t)stack->bytes;
	uintptr_t used = (uintptr_t)__builtin_frame_address(0) - BELOW_BYTES;
	uintptr_t end = used - used % guard_bytes();

	if (end > lowest)
		madvise((void *)stack->bytes, end - lowest, MADV_DONTNEED);
}
