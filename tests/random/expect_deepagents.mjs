// What deepagents' tools answer, as far as the fleet's words must say the same; and files.
import { ANY } from "./middleware.mjs";

const HISTORY = "/conversation_history/"; // the names of what is in it are each one's own

const contains = (text) => `<contains:${text}>`;
const isError = (text) => /^(Error|Cannot|File|Line|String|System reminder)/.test(text);

// Lines of paths: LangChain JS has sizes behind them.
const paths = (text) => text.split("\n").map((line) => line.replace(/ \(\d+ bytes\)| \(directory\)/, ""));
const longest = (lines) => lines.reduce((found, line) => line.length > found.length ? line : found, "");
const READ = /^@@.*@@\n/;

function found(pattern, text) {
  const [, part] = pattern.exec(text) ?? [];
  return part && contains(part);
}

const answers = {
  ls: (text) => text.startsWith("No files") ? contains("No files") : contains(paths(text).join("\n")),
  glob: (text) => text.startsWith("No files") ? contains("No files") : contains(longest(paths(text))),
  grep: (text) => text.startsWith("No matches") ? contains("No matches") : contains(longest(text.split("\n")).trim()),
  read_file: (text) => READ.test(text) ? contains(longest(text.replace(READ, "").split("\n"))) : undefined,
  write_file: (text) => found(/^Successfully wrote to '([^']+)'/, text),
  edit_file: (text) => found(/^Successfully replaced (\d+) occurrence/, text),
  delete: (text) => found(/^Deleted (.*)/s, text),
  task: (text) => found(/^Task completed(.+)/s, text) ?? (text === "Task completed" ? ANY : undefined), // no text at all
};

// Of what failed, that which the scenario itself has said.
const scripted =
  /server broke|slow down|bad request|no reply left|(?:model|tool) wrap of \w+ broke|[CP]\d+P?\d*\.\w+ broke|boom|disk full|late/;

function failure(text) {
  const [said] = scripted.exec(text) ?? [];
  return said === undefined ? ANY : contains(said);
}

const notItsOwn = /^User rejected the tool call|^Tool '\S+' failed after/; // but a human's, and tool_retry's
const cancelled = /^Tool call \S+ with id (\S+) was cancelled/;

// The answer to a call of the tool name, or undefined: nothing of deepagents' is in it. Where there is one the status is not
// compared: deepagents JS has hardly an error among them.
export function deepAnswer(name, text, status) {
  const [, id] = cancelled.exec(text) ?? [];
  if (text === ANY || notItsOwn.test(text)) return undefined;
  if (id !== undefined) return contains(id);
  if (/Please fix your mistakes|Error invoking tool/.test(text)) return name === "task" ? failure(text) : undefined;
  if (status === "error" && name !== "delete") return undefined;
  if (name in answers && text.includes(HISTORY)) return ANY;
  return isError(text) && name in answers && name !== "task" ? ANY : answers[name]?.(text);
}

// Those of the state: what is in them.
export function filesOf({ middleware }, files = {}) {
  if (middleware.some((entry) => entry.deepagents_summarization)) return ANY; // what it sums up is kept in some
  if (Object.keys(files).length === 0) return middleware.some((entry) => entry.filesystem) ? ANY : undefined; // none, or no more
  return Object.fromEntries(Object.entries(files).map(([path, { content }]) =>
    [path, { content, encoding: ANY, created_at: ANY, modified_at: ANY }]));
}
