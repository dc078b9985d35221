import OpenAI from "openai";
import { collect, fetch, key, pixel, schema, stranger, tell, url } from "./story.mjs";

const open = (more) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, fetch, ...more });
const client = open();
const messages = [{ role: "developer", content: "Be brief." }, { role: "user", content: "hello" }];
const tools = [{ type: "function", function: { name: "weather", parameters: schema, strict: true } }];
const chat = (model, more) => client.chat.completions.create({ model, messages, ...more });
const written = (name, more) => chat(`npm-openai/${name}`, more);
const called = ({ tool_calls: [{ id, function: made }] }) =>
  ({ id, name: made.name, input: JSON.parse(made.arguments) });
const text = (pieces) => pieces.map((piece) => piece.choices[0]?.delta.content ?? "").join("");

await tell({
  async plain() {
    const { data, response } = await chat("said-npm-openai/gpt-4o").withResponse();
    const { prompt_tokens: read, completion_tokens: wrote } = data.usage;
    const heads = [response.headers.get("x-tokens-input"), response.headers.get("x-request-id")];
    return { text: data.choices[0].message.content, read, wrote, heads, request: data._request_id };
  },
  async stream() {
    const options = { stream: true, stream_options: { include_usage: true } };
    const pieces = await collect(await chat("said-npm-openai/gpt-4o", options));
    return { text: text(pieces), pieces: pieces.length, wrote: pieces.at(-1).usage.completion_tokens };
  },
  async tools() {
    const reply = await written("tools", { tools, tool_choice: "required" });
    return called(reply.choices[0].message);
  },
  async toolsStreamed() {
    const runner = client.chat.completions.stream({ model: "npm-openai/toolsStreamed", messages, tools });
    return called((await runner.finalChatCompletion()).choices[0].message);
  },
  async image() {
    const image = { url: `data:image/png;base64,${pixel.toString("base64")}`, detail: "low" };
    const parts = [{ type: "text", text: "what?" }, { type: "image_url", image_url: image }];
    const reply = await written("image", { messages: [{ role: "user", content: parts }] });
    return { text: reply.choices[0].message.content };
  },
  invalid: () => written("invalid"),
  refusedByUs: () => written("m", { max_tokens: -1 }),
  async stranger() {
    const unknown = open({ baseURL: `${stranger.url}/v1`, apiKey: stranger.key, fetch: stranger.fetch });
    return await unknown.chat.completions.create({ model: "npm-openai/m", messages });
  },
  missing: () => written("missing"),
  limited: () => written("limited"),
  failing: () => written("failing"),
  failingStreamed: () => written("failing", { stream: true }),
  breaking: async () => ({ pieces: (await collect(await written("breaking", { stream: true }))).length }),
  async cancelled() {
    const stream = await chat("slow-npm-openai/m", { stream: true });
    for await (const piece of stream) {
      stream.controller.abort();
      return { first: piece.choices[0].delta.content ?? "" };
    }
  },
  async aborted() {
    const signal = AbortSignal.timeout(100);
    return await client.chat.completions.create({ model: "slow-npm-openai/m", messages }, { signal });
  },
  models: async () => ({ names: (await collect(client.models.list())).map((model) => model.id) }),
  async embeddings() {
    const asked = { model: "said-npm-openai/text-embedding-3-small", input: ["a", "b"], dimensions: 8 };
    const { data, usage } = await client.embeddings.create(asked);
    return { sizes: data.map((item) => item.embedding.length), read: usage.prompt_tokens };
  },
  async moderations() {
    const reply = await client.moderations.create({ model: "said-npm-openai/omni-moderation-latest", input: "a" });
    return { flagged: reply.results[0].flagged };
  },
  async responses() {
    const asked = { model: "said-npm-openai/gpt-4o", input: "hello", instructions: "Be brief.", store: false };
    const reply = await client.responses.create(asked);
    const events = await collect(await client.responses.create({ ...asked, stream: true }));
    const streamed = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta);
    return { text: reply.output_text, streamed: streamed.join(""), ends: [events[0].type, events.at(-1).type] };
  },
}, OpenAI);
