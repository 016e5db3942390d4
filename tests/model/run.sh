#!/usr/bin/env bash
# The model as it is must be right; with any one rule left out it must be wrong. $1: a folder to
# work in; $2: faults in the plain model (2; 3 takes some minutes).
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
faults=${2:-2}
passed=0
failed=0

# One name a rule that is left out; fleet.pml has each as an #ifdef. :3 is how many faults it takes, where two are not enough.
rules='NO_FENCING NO_VERSION NO_COMMIT_ID EPOCH_KEPT LEASE_FOREVER RELEASE_FORGETS FENCED_KEEPS
BEGUN_UNASKED ACKNOWLEDGED_FIRST ACKNOWLEDGED_EARLY UNFLAGGED ONCE_REPEATED NO_WINDOW
NO_ANNOUNCEMENTS WORKER_RUNS_AGAIN RESULT_SENT_ONCE RESULT_DROPPED GIVEN_ONCE GIVEN_TO_OWNER:3 SAID_BY_FIRST'

# check NAME "flags for spin" "flags for cc" "flags for pan": 0 when nothing is wrong, 1 when
# something is, 2 when the check itself could not be made.
check() {
	local work=$folder/$1 output
	mkdir -p "$work" && cd "$work" || return 2
	# shellcheck disable=SC2086
	spin $2 -a "$here/fleet.pml" >spin.log 2>&1 || { cat spin.log; return 2; }
	# shellcheck disable=SC2086
	cc -w $3 -DMEMLIM=4000 -o pan pan.c || return 2
	# shellcheck disable=SC2086
	output=$(./pan -E -m1000000 -w22 $4)
	if grep -q 'max search depth too small\|out of memory' <<<"$output"; then
		echo "$output"
		return 2
	fi
	said=$(grep -E '^pan:1' <<<"$output" | sed 's/ (at depth.*//')
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' <<<"$output" | head -1)
	grep -q 'errors: 0' <<<"$output"
}

count() {
	if "$1"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

expect_right() {
	if check "$@"; then
		echo "model: $1: right, $states states"
		count true
	else
		echo "model: $1: WRONG: ${said:-it could not be checked}"
		count false
	fi
}

expect_wrong() {
	# What is wrong is found soon: the compiler takes longer.
	check "$1" "-D$1 -DFAULTS=$2" '-O0 -DSAFETY -DNOCLAIM' ''
	if [ $? -eq 1 ]; then
		echo "model: without $1: wrong, as it must be: ${said#pan:1: }"
		count true
	else
		echo "model: without $1: NOT found to be wrong"
		count false
	fi
}

expect_right safety "-DFAULTS=$faults" '-O1 -DSAFETY -DNOCLAIM' ''
expect_right liveness "-DFAULTS=$faults" '-O1' '-a -N ends'
for rule in $rules; do
	expect_wrong "${rule%:*}" "$([[ $rule == *:* ]] && echo "${rule#*:}" || echo 2)"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
