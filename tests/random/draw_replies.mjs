// What the models of a random scenario answer.
import { PII_TEXTS } from "./draw_middleware.mjs";
import { deepArgs, deepTools, together } from "./draw_deepagents.mjs";
import { subagentsOf } from "./agents.mjs";

const FILL = 14; // replies behind those that were drawn: a run always ends
const CALLS_EACH = 100; // ids of calls of an agent, behind those of the one before

const args = {
  add: (random, id) => random.chance(0.9) ? { a: 1, b: id } : { a: "one" },
  write_todos: (random, id) =>
    ({ todos: [{ content: `todo ${id}`, status: random.of(["pending", "in_progress", "completed"]) }] }),
  Contact: (random) => random.chance(0.6) ? { name: "Ann" } : { nome: 1 },
  Event: (random) => random.chance(0.7) ? { what: "Party" } : {},
  ...deepArgs,
};

// The replies to one agent; number: its place among the scenario's.
class Replies {
  constructor(random, agent, serial, number = 0) {
    Object.assign(this, { random, agent, serial, calls: number * CALLS_EACH });
    const { schemas, schema } = agent.response_format ?? { schemas: [] };
    this.alone = ["direct", ...(schemas ?? [schema]).map(({ title }) => title)];
    this.names = [...agent.tools, ...agent.tools, "ghost", ...deepTools(agent)];
    this.deep = deepTools(agent).length > 0;
    if (agent.middleware.some((entry) => entry.todo_list)) this.names.push("write_todos", "write_todos");
    if (agent.response_format?.strategy === "tool") this.names.push(...this.alone.slice(1), ...this.alone.slice(1));
    this.provider = agent.response_format?.strategy === "provider";
    this.faults = random.of([0, 0, 0.1, 0.3]);
  }

  call(names) {
    const name = this.random.of(names), id = ++this.calls;
    const usual = { q: this.random.of(["x", "y", this.random.of(PII_TEXTS)]) };
    return { id: `c${id}`, name, args: args[name]?.(this.random, id, this.agent) ?? usual };
  }

  // Where calls differ by decision when they stand beside others they stand alone: decided.mjs.
  callsOfOne() {
    const { random } = this;
    const first = this.call(this.names);
    if (this.serial || this.alone.includes(first.name)) return [first];
    const others = this.names.filter((name) => !this.alone.includes(name) && name !== "write_todos");
    return together([first, ...Array.from({ length: random.of([0, 0, 1, 1, 2]) }, () => this.call(others))]);
  }

  one() {
    const { random } = this;
    if (random.chance(this.faults)) {
      return random.of([{ http_error: 500, message: "server broke" }, { http_error: 429, message: "slow down" },
        { http_error: 400, message: "bad request" }, { drop: true }]);
    }
    const text = this.provider ? "" : random.of(["", "", "thinking", `I use ${random.of(PII_TEXTS)}`]);
    // Without tools LangChain sends a call to a node that it has not made.
    if (this.names.length > 1 && random.chance(this.deep ? 0.75 : 0.6)) return { content: text, tool_calls: this.callsOfOne() };
    if (this.provider) return { content: random.of(['{"name": "Bob"}', '{"name": "Bob"}', "not json"]) };
    return { content: random.of(["done", `final ${random.of(PII_TEXTS)}`, "", " spaced\n"]) };
  }

  list(most, name) {
    const drawnOnes = Array.from({ length: this.random.integer(1, most) }, () => this.one());
    const fill = (i) => ({ content: this.provider ? '{"name": "Fill"}' : `${name} fill ${i}` });
    return [...drawnOnes, ...Array.from({ length: FILL }, (_, i) => fill(i))];
  }
}

const modelOf = ({ model }) => model.replace("openai:", "");

export function drawScript(random, agent, serial) {
  const replies = new Replies(random, agent, serial);
  const selector = agent.middleware.find((entry) => entry.llm_tool_selector)?.llm_tool_selector;
  const offered = agent.tools.filter((name) => !selector?.always_include?.includes(name));
  const repeated = (reply) => Array.from({ length: FILL }, (_, i) => reply(i));
  const subagents = subagentsOf(agent).map((one, i) =>
    [modelOf(one), new Replies(random, one, serial, i + 1).list(5, modelOf(one))]);
  return {
    main: replies.list(replies.deep ? 9 : 6, "main"), other: replies.list(2, "other"),
    second: replies.list(2, "second"), third: replies.list(2, "third"), ...Object.fromEntries(subagents),
    sum: repeated((i) => ({ content: `SUMMARY ${i}` })), emulate: repeated(() => ({ content: "emulated" })),
    pick: repeated(() => {
      const tools = random.some(offered, 0.5);
      return { structured: { tools: random.chance(0.03) ? ["ghost"] : tools.length > 0 ? tools : offered.slice(0, 1) } };
    }),
  };
}
