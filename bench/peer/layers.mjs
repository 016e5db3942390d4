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

for (const [kind, make] of Object.entries(kinds)) {
  for (const count of counts) {
    const middleware = Array.from({ length: count }, (_, i) => make(`m${i}`));
    const agent = createAgent({ model: new FakeListChatModel({ responses: ["ok"] }), tools: [], middleware });
    const times = [];
    await microseconds(agent); // warm
    for (let i = 0; i < rounds; i++) {
      times.push(await microseconds(agent));
    }
    times.sort((a, b) => a - b);
    console.log(kind, count, times[rounds >> 1].toFixed(3));
  }
}
