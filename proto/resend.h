/* resend: when a copy is sent of what was not acknowledged. One rule for CALLs and RESULTs, of
 * callers, brokers and workers alike. */
#ifndef RESEND_H
#define RESEND_H

#include <stddef.h>
#include <stdint.h>

/* Returns how long a message is waited for that has so many bytes in its bodies: pause_ms, as one that
 * has none, and the time in which they cross the slowest connection of use. On a connection that lives a message
 * is late far more often than lost; copies would stand in line behind it, one each pause_ms, and all else behind them. */
uint64_t resend_first_ms(uint64_t pause_ms, size_t body_bytes);

/* Returns the pause behind pause_ms: twice as long, up to RESULT_RESEND_MS_MAX, and never shorter. */
uint64_t resend_next_ms(uint64_t pause_ms);

#endif
