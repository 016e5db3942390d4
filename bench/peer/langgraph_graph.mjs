// The agent of bench/agent.yaml, for LangGraph's server, which stores what it does.
import { createAgent } from "langchain";
import { ChatOpenAI } from "@langchain/openai";
import { calculate, recite, systemPrompt } from "./calculate.mjs";

export const graph = createAgent({ model: new ChatOpenAI({ model: "bench" }), tools: [calculate, recite], systemPrompt });
