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

export const systemPrompt = "You answer questions, and work numbers out with calculate.";
