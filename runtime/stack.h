/* stack: where a fiber's frames live, and the switch from one stack to another. For
 * fiber.c, and for what needs more of it for a moment (middleware/lua/lua_vm.c).
 *
 * A stack is mapped memory above a guard page, and the place in it where its code goes
 * on. The thread's own stack is a zeroed struct. ASan and LSan know of all of it; TSan
 * takes each stack for a fiber of its own. */
#ifndef STACK_H
#define STACK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define STACK_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define STACK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_ASAN 1
#elif __has_feature(thread_sanitizer)
#define STACK_TSAN 1
#endif
#endif

struct stack {
#if defined(STACK_ASAN) || defined(STACK_TSAN)
	ucontext_t context;
#endif
	jmp_buf jump;        /* where it goes on, once it has been left */
	void (*enter)(void); /* NULL: it has been entered */
	const void *bytes;   /* the lowest; NULL: the thread's own, not left yet */
	size_t size;
	void *fake;  /* ASan's */
	void *fiber; /* TSan's */
};

/* Maps bytes (whole pages) for a zeroed stack. Returns 0, or -1 when the kernel gives none. */
int stack_map(struct stack *stack, size_t bytes);
void stack_unmap(struct stack *stack);

/* Gives touched pages back to the kernel: all of them; of stack, which is running, those below
 * the caller's frame. */
void stack_cool(struct stack *stack);
void stack_rest(struct stack *stack);

/* The next switch to stack calls enter(), which calls stack_arrive first, never returns,
 * and leaves for the last time with last true. What ran on stack before is forgotten. */
void stack_begin(struct stack *stack, void (*enter)(void));
void stack_arrive(struct stack *stack, struct stack *from);

/* Leaves `from`, which is running, for `to`; returns when somebody switches back. */
void stack_switch(struct stack *from, struct stack *to, bool last);

#endif
