#!/usr/bin/env node
// Two tools for the agents of a fleet: README.md says how to run them.
import { setTimeout as sleep } from "node:timers/promises";
import { BadArguments, Worker } from "./flotilla_worker.js";

const worker = new Worker({ slots: 8 });

worker.tool({
  name: "slug", description: "Turns a title into a part of a web address.",
  parameters: { properties: { title: { type: "string" } }, required: ["title"] },
}, ({ title }) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, ""));

worker.tool({
  name: "wait", description: "Waits, then says so.",
  parameters: { properties: { seconds: { type: "number" } }, required: ["seconds"] },
}, async ({ seconds }, call) => {
  if (seconds > 3600) throw new BadArguments("an hour is the most");
  await sleep(seconds * 1000, null, { signal: call.signal }); // pass the signal on: then a cancelled call ends
  return `${seconds} seconds are over`;
});

worker.run();
