/* usage: what the system knows of a process: its CPU time, its memory, its files. What it
 * does not know ends the benchmark. */
#ifndef USAGE_H
#define USAGE_H

#include <stddef.h>
#include <sys/types.h>

/* The CPU time so far, all threads, in microseconds. */
double usage_cpu_us(pid_t pid);

/* The memory that is resident now, in bytes. */
size_t usage_resident_bytes(pid_t pid);

/* The most that was resident since the process began, or usage_forget_peak. */
size_t usage_peak_bytes(pid_t pid);
void usage_forget_peak(pid_t pid);

/* Lets this process, and those it starts, open as many files as the system allows. */
void usage_raise_file_limit(void);

#define USAGE_PATH_BYTES 4096u

/* The path of the program that runs; and the build folder it lies in. Both write into path, and
 * return it. */
const char *usage_program(char path[USAGE_PATH_BYTES]);
const char *usage_build(char path[USAGE_PATH_BYTES]);

/* How many files it has open. */
size_t usage_open_files(pid_t pid);

/* Waits until it has so many, and a moment more: it is a model server, and each that comes is a
 * call. */
void usage_await_files(pid_t pid, size_t files);

#endif
