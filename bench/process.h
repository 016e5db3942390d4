/* process: what the system knows of a process: its CPU time, its memory, its files. What it
 * does not know ends the benchmark. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/* The CPU time so far, all threads, in microseconds. */
double process_cpu_us(pid_t pid);

/* The memory that is resident now, in bytes. */
size_t process_resident_bytes(pid_t pid);

/* The most that was resident since the process began, or process_forget_peak. */
size_t process_peak_bytes(pid_t pid);
void process_forget_peak(pid_t pid);

/* Lets this process, and those it starts, open as many files as the system allows. */
void process_raise_file_limit(void);

/* How many files are open. */
size_t process_open_files(pid_t pid);

#endif
