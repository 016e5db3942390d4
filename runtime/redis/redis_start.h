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

/* Whether what redis-check-aof has said of a file is that its end was cut short: in a string, between
 * commands of a transaction, in a line (which then stands in the file's last bytes; anywhere else it is
 * damaged), between two lines. The same as in examples/systemd/redis-mend.sh. */
/* clang-format off */
#define REDIS_START_CUT_SHORT \
	"cut_short() {\n" \
	"  case $said in\n" \
	"  *'Expected to read '* | *'Reached EOF before reading EXEC'*) return 0 ;;\n" \
	"  *': Expected '*', got: '*)\n" \
	"    at=$(printf '%s\\n' \"$said\" | sed -n 's/^0x *\\([0-9a-f]*\\): Expected .r.n, got: .*/\\1/p')\n" \
	"    size=$(printf '%s\\n' \"$said\" | sed -n 's/.*, size=\\([0-9]*\\), .*/\\1/p' | tail -n 1)\n" \
	"    [ -n \"$at\" ] && [ $((size - 0x$at)) -lt 24 ]\n" \
	"    ;;\n" \
	"  *'format error'* | *Unexpected*) return 1 ;;\n" \
	"  *' is not valid. '*) return 0 ;;\n" \
	"  *) return 1 ;;\n" \
	"  esac\n" \
	"}\n"
/* clang-format on */

/* For `/bin/sh -c SCRIPT redis-server FOLDER ARGUMENT...`: becomes redis-server with these
 * arguments. FOLDER is its --dir. Descriptor 3, where it is open, is a lock on FOLDER for who writes in it: a look at the
 * file may outlive the shell, and does not hold it. */
#define REDIS_START_SCRIPT                                                               \
	REDIS_START_CUT_SHORT                                                            \
	"aof=$1/appendonlydir/appendonly.aof.manifest; shift\n"                          \
	"if [ -f \"$aof\" ] && ! said=$(redis-check-aof \"$aof\" 2>&1 3>&-) && "         \
	"cut_short\n"                                                                    \
	"then\n"                                                                         \
	"  echo y | redis-check-aof --fix \"$aof\" >&2\n"                                \
	"fi\n"                                                                           \
	"exec redis-server \"$@\"\n"

#endif
