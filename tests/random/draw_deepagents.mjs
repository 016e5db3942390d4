// What is drawn for the middleware of deepagents: calls of its tools, files.
import { GENERAL } from "./agents.mjs";

const PATHS = ["/a.txt", "/b.md", "/docs/c.txt", "/docs/sub/d.md"];
const TEXTS = ["alpha\nbeta", "beta beta\ngamma", "one", "", "alpha\n\nomega\n"];
const FOLDERS = ["/", "/docs", "/docs/", "/none"];
const WORDS = ["alpha", "beta", "a", "zzz"];
export const CHANGING = ["write_file", "edit_file", "delete"];

const settingsOf = ({ middleware }, name) => middleware.find((entry) => entry[name])?.[name];

// The names of its tools that an agent has, as often as they are called.
export function deepTools(agent) {
  const files = settingsOf(agent, "filesystem") === undefined ? []
    : ["write_file", "write_file", "read_file", "edit_file", "ls", "glob", "grep", "delete"];
  return [...files, ...(settingsOf(agent, "subagent") === undefined ? [] : Array(8).fill("task"))];
}

function drawTask(random, id, agent) {
  const { subagents, general_purpose_agent } = settingsOf(agent, "subagent");
  const names = [...subagents.map(({ name }) => name), ...(general_purpose_agent ? [GENERAL] : [])];
  const task = { description: `task ${id}`, subagent_type: random.chance(0.04) ? "nobody" : random.of(names) };
  return random.chance(0.03) ? { description: task.description } : task;
}

function drawGrep(random) {
  const grep = { pattern: random.of(WORDS), output_mode: random.of(["files_with_matches", "content", "count"]) };
  if (random.chance(0.3)) grep.path = random.of([...FOLDERS, ...PATHS]);
  if (random.chance(0.3)) grep.glob = random.of(["*.md", "*.txt"]);
  return grep;
}

// name of a tool: (random, number of the call, agent) -> arguments
export const deepArgs = {
  task: drawTask,
  ls: (random) => ({ path: random.of(FOLDERS) }),
  write_file: (random) => ({ file_path: random.of(PATHS), content: random.of(TEXTS) }),
  read_file: (random) => random.chance(0.03) ? {}
    : { file_path: random.of(PATHS), ...(random.chance(0.3) && { offset: random.integer(0, 2), limit: random.integer(1, 2) }) },
  edit_file: (random) => ({
    file_path: random.of(PATHS), old_string: random.of(WORDS), new_string: random.of(["delta", "x\ny", ""]),
    ...(random.chance(0.4) && { replace_all: true }),
  }),
  delete: (random) => ({ file_path: random.of([...PATHS, "/docs"]) }),
  glob: (random) => ({
    pattern: random.of(["*.txt", "**/*.txt", "**/*", "*.md", "docs/*"]), ...(random.chance(0.3) && { path: random.of(FOLDERS) }),
  }),
  grep: drawGrep,
};

// Of calls in one message those that may stand side by side: an agent is called once, for its model answers in an order; and
// beside it nothing changes files, which it gives back as it found them (middleware/subagent.md).
export function together(calls) {
  const called = new Set();
  const hasTask = calls.some(({ name }) => name === "task");
  return calls.filter(({ name, args: { subagent_type: type } }) => {
    if (name !== "task") return !hasTask || !CHANGING.includes(name);
    if (called.has(type)) return false;
    called.add(type);
    return true;
  });
}

export function drawFiles(random) {
  const date = "2026-01-02T03:04:05.000Z";
  return Object.fromEntries(random.some(PATHS, 0.5).map((path) =>
    [path, { content: random.of(TEXTS), created_at: date, modified_at: date }]));
}

// Entries drawn for the agent's tools mean those of its middleware, too.
export function meanAlso(random, middleware) {
  const names = [...new Set(deepTools({ middleware }))];
  if (names.length === 0) return middleware;
  for (const { human_in_the_loop: asks, tool_call_limit: limits } of middleware) {
    if (asks && random.chance(0.5)) asks.interrupt_on[random.of(names)] = { allowed_decisions: ["approve", "reject"] };
    if (limits && !limits.tool_name && random.chance(0.3)) limits.tool_name = random.of(names);
  }
  return middleware;
}
