// What the agents of LangChain JS have alike, as bench/agent.yaml has it.
import { z } from "zod";
import { tool } from "langchain";

const operators = { "*": (a, b) => a * b, "/": (a, b) => a / b, "+": (a, b) => a + b, "-": (a, b) => a - b };

export const calculate = tool(
  ({ expression }) => {
    const [, left, operator, right] = /^\s*(\S+)\s*([*/+-])\s*(\S+)\s*$/.exec(expression);
    return String(operators[operator](Number(left), Number(right)));
  },
  { name: "calculate", description: "Works out an arithmetic expression.", schema: z.object({ expression: z.string() }) },
);

// As bench/plugin/bench_layer.c has it.
export const recite = tool(
  ({ bytes }) => "and it said so much more than I asked ".repeat(bytes).slice(0, bytes),
  { name: "recite", description: "Says as much as it is asked for.", schema: z.object({ bytes: z.number() }) },
);

export const systemPrompt = "You answer questions, and work numbers out with calculate.";
