/* redis_start: how redis-server is started on a folder it may have been killed in.
 *
 * A SIGKILL or a power cut may leave the last write to the append-only file cut short, in the
 * middle of a transaction: one of our functions. Redis 7.0 then cuts the file behind the last
 * whole command, not before the transaction's MULTI, and goes on writing behind it: at the
 * next start but one the half transaction is carried out together with the one behind it, and
 * half a commit is in the state. redis-check-aof cuts where it is right; so it goes first. Only
 * such a short end is mended: of any other damage redis-server itself speaks, and stops. */
#ifndef REDIS_START_H
#define REDIS_START_H

/* For `/bin/sh -c SCRIPT redis-server FOLDER ARGUMENT...`: becomes redis-server with these
 * arguments. FOLDER is its --dir. */
#define REDIS_START_SCRIPT                                                               \
	"aof=$1/appendonlydir/appendonly.aof.manifest; shift\n"                          \
	"if [ -f \"$aof\" ] && ! said=$(redis-check-aof \"$aof\" 2>&1); then\n"          \
	"  case $said in\n"                                                              \
	"  *'Expected to read '* | *'Reached EOF before reading EXEC'*)\n"               \
	"    echo y | redis-check-aof --fix \"$aof\" >&2 ;;\n"                           \
	"  esac\n"                                                                       \
	"fi\n"                                                                           \
	"exec redis-server \"$@\"\n"

#endif
