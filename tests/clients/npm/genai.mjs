import * as genai from "@google/genai";
import { collect, fetch, key, pixel, schema, stranger, tell, url } from "./story.mjs";

const open = (baseUrl, apiKey, by) => new genai.GoogleGenAI({ apiKey, httpOptions: { baseUrl, fetch: by } }).models;
const models = open(url, key, fetch);
const contents = "hello";
const tools = [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: schema }] }];
const ask = (model, config) => models.generateContent({ model, contents, config });
const stream = (model, config) => models.generateContentStream({ model, contents, config });
const written = (name, config) => ask(`npm-gemini/${name}`, config);
const called = ({ id, name, args }) => ({ id, name, input: args });
const system = { systemInstruction: "Be brief.", maxOutputTokens: 99 };

await tell({
  async plain() {
    const reply = await ask("said-npm-gemini/gemini-2.5-flash", system);
    const { promptTokenCount: read, candidatesTokenCount: wrote } = reply.usageMetadata;
    const heads = reply.sdkHttpResponse.headers;
    return { text: reply.text, read, wrote, heads: [heads["x-tokens-input"], heads["x-request-id"]] };
  },
  async stream() {
    const pieces = await collect(await stream("said-npm-gemini/gemini-2.5-flash"));
    const { candidatesTokenCount: wrote } = pieces.at(-1).usageMetadata;
    return { text: pieces.map((piece) => piece.text ?? "").join(""), pieces: pieces.length, wrote };
  },
  tools: async () => called((await written("tools", { tools })).functionCalls[0]),
  async toolsStreamed() {
    const [piece] = await collect(await stream("npm-gemini/toolsStreamed", { tools }));
    return called(piece.functionCalls[0]);
  },
  async image() {
    const parts = [{ inlineData: { data: pixel.toString("base64"), mimeType: "image/png" } }, { text: "what?" }];
    return { text: (await models.generateContent({ model: "npm-gemini/image", contents: parts })).text };
  },
  invalid: () => written("invalid"),
  refusedByUs: () => written("m", { maxOutputTokens: -1 }),
  stranger: () => open(stranger.url, stranger.key, stranger.fetch).generateContent({ model: "npm-gemini/m", contents }),
  missing: () => written("missing"),
  limited: () => written("limited"),
  failing: () => written("failing"),
  failingStreamed: () => stream("npm-gemini/failing"),
  breaking: async () => ({ pieces: (await collect(await stream("npm-gemini/breaking"))).length }),
  async cancelled() {
    const stop = new AbortController();
    for await (const piece of await stream("slow-npm-gemini/m", { abortSignal: stop.signal })) {
      stop.abort();
      return { first: piece.text ?? "" };
    }
  },
  aborted: () => ask("slow-npm-gemini/m", { abortSignal: AbortSignal.timeout(100) }),
  models: async () => ({ names: (await collect(await models.list())).map((model) => model.name) }),
  notOffered: () => models.embedContent({ model: "said-npm-gemini/gemini-2.5-flash", contents }),
}, genai);
