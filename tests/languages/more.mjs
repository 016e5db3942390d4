// Tools that ask, that must not run twice, that end when they may, for the tests of the JavaScript worker.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Answer, Command, Worker } from "../../examples/workers/javascript/flotilla_worker.js";

const worker = new Worker();

worker.tool({ name: "ask", description: "Asks for a name and a colour.", parameters: {} },
  (_, call) => [call.interrupt("your name?"), call.interrupt({ choose: ["red", "blue"] })]);

worker.tool({ name: "pay", description: "Pays.", parameters: {}, idempotent: false },
  (_, call) => new Promise((done, fail) => call.signal.addEventListener("abort", () => fail(new Error("stopped")))));

worker.tool({ name: "gate", description: "Waits for a file.", parameters: { properties: { path: { type: "string" } } } },
  async ({ path }, call) => {
    while (!existsSync(path)) await sleep(20, null, { signal: call.signal });
    return "open";
  });

worker.tool({ name: "stream", description: "Tells how far it is, until there is a file.", parameters: { properties: { path: { type: "string" } } } },
  async ({ path }, call) => {
    while (!existsSync(path)) {
      call.stream("m".repeat(65 << 10)); // more than a value may have
      call.stream({ done: 0.5 });
      await sleep(20, null, { signal: call.signal });
    }
    return "streamed";
  });

worker.tool({ name: "told", description: "Says what it is told of the run.", parameters: {}, reads: ["messages", "nobody"] },
  (_, call) => [Object.keys(call.state), call.state.messages[0].content, call.context]);

worker.tool({ name: "note", description: "Notes something, and ends the run.", parameters: {} }, () => {
  const answer = new Answer([{ type: "text", text: "Noted." }], { by: "me" });
  return new Command(answer, { update: { noted: [1], messages: "Good." }, goto: "end" });
});

worker.tool({ name: "odd", description: "Answers and asks what cannot be sent.", parameters: { properties: { kind: { type: "string" } } } },
  ({ kind }, call) => {
    if (kind === "asks") call.interrupt(10n ** 30n);
    if (kind === "raises") throw new Error("\ud800");
    if (kind === "much") return "m".repeat(17 << 20);
    if (kind === "half") return new Answer("half \ud83d", { ["\ud83d"]: "\ude00".repeat(99), whole: "\ud55c\ud83d\ude00" });
    if (kind === "nothing") return () => {};
    if (kind === "raises much") throw new Error("m".repeat(17 << 20));
    return { toJSON() { return 10n; } };
  });

worker.run();
