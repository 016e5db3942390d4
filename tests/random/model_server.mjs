// The model of LangChain's side: an OpenAI server on this machine that plays a scenario's script, as the tests' scripted server
// does for the fleet, and keeps the requests.
import http from "node:http";

// deepagents JS has the model of the request itself write its summary, whatever the settings say.
const asksItself = (body) =>
  String(body.messages[0].content).startsWith("You are a conversation summarizer.") ? { ...body, model: "sum" } : body;

export class ModelServer {
  constructor() {
    this.server = http.createServer((request, response) => this.#receive(request, response));
    this.answers = 0; // an id for each: LangChain takes it for the message's
    this.scenarios = 0;
    this.play({});
  }

  listen() {
    return new Promise((resolve) => this.server.listen(0, "127.0.0.1", () => {
      this.host = `http://127.0.0.1:${this.server.address().port}`;
      resolve();
    }));
  }

  // From now on: model name -> replies. Each scenario has a URL of its own: what is still under way of the one before is refused.
  play(script) {
    this.path = `/${++this.scenarios}`;
    this.script = script;
    this.played = {};
    this.requests = [];
  }

  get url() {
    return this.host + this.path;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #receive(request, response) {
    let text = "";
    for await (const part of request) text += part;
    if (!request.url.startsWith(`${this.path}/`)) {
      request.socket.destroy();
      return;
    }
    const body = asksItself(JSON.parse(text));
    const at = this.played[body.model] ?? 0;
    this.played[body.model] = at + 1;
    this.requests.push(body);
    const reply = this.script[body.model]?.[at] ?? { http_error: 500, message: `the script of ${body.model} has no reply left` };
    if (reply.drop) {
      request.socket.destroy();
      return;
    }
    const [status, answer] = reply.http_error
      ? [reply.http_error, { error: { message: reply.message, type: "scripted" } }]
      : [200, completion(reply, body, ++this.answers)];
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  }
}

function completion(reply, body, number) {
  const message = { role: "assistant", content: reply.content ?? "" };
  let calls = reply.tool_calls;
  if (reply.structured && body.response_format) message.content = JSON.stringify(reply.structured);
  else if (reply.structured) calls = [{ id: "structured", name: body.tools[0].function.name, args: reply.structured }];
  message.tool_calls = calls?.map(({ id, name, args }) =>
    ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  return {
    id: `answer-${number}`, object: "chat.completion", created: 1, model: body.model,
    choices: [{ index: 0, message, finish_reason: calls ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}
