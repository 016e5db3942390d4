#!/bin/sh
# The main job from start to end: a fleet comes up, an agent writes two files, through a model that
# times out once and a disk that is full once. `make demo` runs it with the programs' folder and a
# folder to work in:  examples/demo.sh build/bin build/demo
set -eu

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$2/workspace"
mkdir -p "$2/workspace"
folder=$(cd "$2" && pwd)
WORKSPACE=$folder/workspace
export WORKSPACE
agent=$here/agents/login_register.yaml

bold='' plain=''
[ ! -t 1 ] || { bold=$(printf '\033[1m') plain=$(printf '\033[0m'); }
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

if [ -n "${OPENAI_API_KEY:-}${OPENAI_BASE_URL:-}" ]; then
	model=openai:${OPENAI_MODEL:-gpt-4o-mini}
	say "OPENAI_API_KEY or OPENAI_BASE_URL is set: the agent runs on $model"
	sed "s|^model: .*|model: $model|" "$agent" >"$folder/login_register.yaml"
	agent=$folder/login_register.yaml
fi

say "1. The fleet starts: redis, broker, 2 coordinators, 2 worker-model, 2 worker-tools"
"$bin/flotilla" up --folder "$folder" --coordinators 2 --model-workers 2 --tool-workers 2 \
	--tools "$here/tools" --agents "$agent" >"$folder/up.log" 2>&1 &
fleet=$!
trap 'kill $fleet 2>/dev/null || :; wait $fleet 2>/dev/null || :' EXIT
until grep -q 'the fleet is up' "$folder/up.log"; do
	kill -0 $fleet 2>/dev/null || { cat "$folder/up.log" >&2; exit 1; }
	sleep 0.1
done
cat "$folder/up.log"
cd "$folder"

say "2. A disk that is full once is planted, then a run is submitted and followed"
touch "$WORKSPACE/.disk-full"
status=0
"$bin/flotilla" submit login-register "Create the two files login.tsx and register.tsx" \
	--thread "demo-$$" --follow || status=$?

say "3. The thread's final state"
"$bin/flotilla" state "demo-$$"

say "4. Its checkpoints, and who worked"
"$bin/flotilla" history "demo-$$"
"$bin/flotilla" top --once

say "5. The files in $WORKSPACE"
ls -l "$WORKSPACE"
for file in login.tsx register.tsx; do
	[ -s "$WORKSPACE/$file" ] || { echo "demo: $file was not written" >&2; exit 1; }
done
[ $status -eq 0 ] || { echo "demo: the run ended with status $status" >&2; exit 1; }
open=$("$bin/flotilla" state "demo-$$" --json | grep -c '"status":"\(pending\|in_progress\)"' || :)
"$bin/flotilla" state "demo-$$" --json | grep -q '"fields":{"todos":\[{"content":"[^"]*","status":"completed"' ||
	{ echo "demo: the todos are not completed ($open open)" >&2; exit 1; }
say "Both files are written and the todos completed."
