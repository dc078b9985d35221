import Anthropic from "@anthropic-ai/sdk";
import { collect, fetch, key, pixel, schema, stranger, tell, url } from "./story.mjs";

const open = (more) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, fetch, ...more });
const client = open();
const said = "said-npm-anthropic/claude-sonnet-4-5";
const messages = [{ role: "user", content: "hello" }];
const tools = [{ name: "weather", input_schema: schema, cache_control: { type: "ephemeral" } }];
const right = (model, more) => ({ model, max_tokens: 99, messages, ...more });
const ask = (model, more) => client.messages.create(right(model, more));
const written = (name, more) => ask(`npm-anthropic/${name}`, more);
const used = ({ content: [{ id, name, input }] }) => ({ id, name, input });

await tell({
  async plain() {
    const { data, response } = await ask(said, { system: "Be brief." }).withResponse();
    const { input_tokens: read, output_tokens: wrote } = data.usage;
    const heads = [response.headers.get("x-tokens-input"), response.headers.get("x-request-id")];
    return { text: data.content[0].text, read, wrote, heads };
  },
  async stream() {
    const stream = client.messages.stream(right(said));
    const pieces = await collect(stream);
    const { output_tokens: wrote } = (await stream.finalMessage()).usage;
    return { text: await stream.finalText(), pieces: pieces.length, wrote };
  },
  tools: async () => used(await written("tools", { tools, tool_choice: { type: "any" } })),
  async toolsStreamed() {
    return used(await client.messages.stream(right("npm-anthropic/toolsStreamed", { tools })).finalMessage());
  },
  async image() {
    const source = { type: "base64", media_type: "image/png", data: pixel.toString("base64") };
    const content = [{ type: "image", source }, { type: "text", text: "what?" }];
    return { text: (await written("image", { messages: [{ role: "user", content }] })).content[0].text };
  },
  invalid: () => written("invalid"),
  refusedByUs: () => written("m", { max_tokens: -1 }),
  async stranger() {
    const unknown = open({ baseURL: stranger.url, apiKey: stranger.key, fetch: stranger.fetch });
    return await unknown.messages.create(right("npm-anthropic/m"));
  },
  missing: () => written("missing"),
  limited: () => written("limited"),
  failing: () => written("failing"),
  failingStreamed: () => written("failing", { stream: true }),
  breaking: async () => ({ pieces: (await collect(await written("breaking", { stream: true }))).length }),
  async cancelled() {
    const stream = await ask("slow-npm-anthropic/m", { stream: true });
    for await (const piece of stream) {
      stream.controller.abort();
      return { first: piece.type };
    }
  },
  aborted: () => client.messages.create(right("slow-npm-anthropic/m"), { signal: AbortSignal.timeout(100) }),
  models: async () => ({ names: (await collect(client.models.list())).map((model) => model.id) }),
  count: () => client.messages.countTokens({ model: said, messages }),
}, Anthropic);
