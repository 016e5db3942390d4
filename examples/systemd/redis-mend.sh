#!/bin/sh
# Cuts off what a SIGKILL, a power cut or a full disk has left incomplete at the end of Redis's append-only file, and
# nothing else: docs/operations.md says why, as runtime/redis/redis_start.h does, which is this for `flotilla up`. To be run
# before each start of Redis, as its user.
#
#   redis-mend.sh FOLDER        Redis's --dir
aof=$1/appendonlydir/appendonly.aof.manifest

# Whether what redis-check-aof has said of a file is that its end was cut short: in a string, between commands of a
# transaction, in a line (which then stands in the file's last bytes; anywhere else it is damaged), between two lines.
cut_short() {
	case $said in
	*'Expected to read '* | *'Reached EOF before reading EXEC'*) return 0 ;;
	*': Expected '*', got: '*)
		at=$(printf '%s\n' "$said" | sed -n 's/^0x *\([0-9a-f]*\): Expected .r.n, got: .*/\1/p')
		size=$(printf '%s\n' "$said" | sed -n 's/.*, size=\([0-9]*\), .*/\1/p' | tail -n 1)
		[ -n "$at" ] && [ $((size - 0x$at)) -lt 24 ]
		;;
	*'format error'* | *Unexpected*) return 1 ;;
	*' is not valid. '*) return 0 ;;
	*) return 1 ;;
	esac
}

if [ -f "$aof" ] && ! said=$(redis-check-aof "$aof" 2>&1) && cut_short; then
	echo y | redis-check-aof --fix "$aof"
fi
exit 0
