// What the three vendors' SDKs share: how they reach the appliance, and how a case of the story is told. Each script
// gets the identity folder and a way, `certificate` or the shim's URL, and prints one JSON line for each case.
import { Agent, fetch as fetchWith } from "undici";
import { base, say, tls } from "./identity.mjs";

const way = process.argv[3];
const dispatcher = new Agent({ connect: tls });

export const url = way === "certificate" ? base : way;
export const key = way === "certificate" ? "certificate" : "shim";
const byCertificate = (to, options) => fetchWith(to, { ...options, dispatcher });
export const fetch = way === "certificate" ? byCertificate : globalThis.fetch;
// Somebody who shows no certificate, at the appliance itself.
export const stranger = { url: base, key: "certificate", fetch: globalThis.fetch };

export const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
export const pixel = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from([...Array(256).keys()])]);

// An error by the name under which the SDK exports its very class.
function describe(error, exported) {
  const kind = Object.keys(exported).find((name) => exported[name] === error.constructor) ?? error.name;
  const { status, code, type, message } = error;
  const retryAfter = error.headers?.get?.("retry-after");
  return { error: kind, status, code, type, message, retryAfter, request: error.requestID };
}

// `cases` in their order; `exported` is where the SDK's error classes are.
export async function tell(cases, exported) {
  for (const [name, act] of Object.entries(cases)) {
    try {
      say({ case: name, ...(await act()) });
    } catch (error) {
      say({ case: name, ...describe(error, exported) });
    }
  }
  await dispatcher.close();
}

export async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}
