// What layers of middleware that do nothing cost in LangChain JS, in microseconds of CPU time a call.
//
//	node layers.mjs CALLS ROUNDS LAYERS...      prints "wrap LAYERS us" and "node LAYERS us" lines
import { createAgent, createMiddleware } from "langchain";
import { FakeListChatModel } from "@langchain/core/utils/testing";

const [calls, rounds, ...counts] = process.argv.slice(2).map(Number);

const kinds = {
  wrap: (name) => createMiddleware({ name, wrapModelCall: (request, handler) => handler(request) }),
  node: (name) => createMiddleware({ name, beforeModel: () => undefined }),
};

async function microseconds(agent) {
  const began = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    await agent.invoke({ messages: [{ role: "user", content: "hi" }] });
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / calls;
}

const agents = Object.entries(kinds).flatMap(([kind, make]) =>
  counts.map((count) => {
    const middleware = Array.from({ length: count }, (_, i) => make(`m${i}`));
    const model = new FakeListChatModel({ responses: ["ok"] });
    return { kind, count, agent: createAgent({ model, tools: [], middleware }), times: [] };
  }),
);

// In turns, and all of them twice before: what the engine compiles on the way is nobody's own.
for (let round = -2; round < rounds; round++) {
  for (const { agent, times } of agents) {
    const time = await microseconds(agent);
    if (round >= 0) {
      times.push(time);
    }
  }
}
for (const { kind, count, times } of agents) {
  times.sort((a, b) => a - b);
  console.log(kind, count, times[rounds >> 1].toFixed(3));
}
