// LangGraph's server with the agent of langgraph_graph.mjs; a child of langgraph.mjs, which it tells when it listens.
import { startServer } from "@langchain/langgraph-api/server";

const { port, folder, workers } = JSON.parse(process.argv[2]);
await startServer({
  port, nWorkers: workers, host: "127.0.0.1", cwd: folder,
  graphs: { bench: `${new URL("langgraph_graph.mjs", import.meta.url).pathname}:graph` },
});
process.send("listening");
