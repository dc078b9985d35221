// The identity folder that `mastio enroll` wrote, as keys of the Web Crypto API. Each script gets the folder as its
// argument and prints one JSON document; NODE_EXTRA_CA_CERTS names the appliance's authority.
import { createPrivateKey, createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const folder = process.argv[2];
const read = (name) => readFileSync(join(folder, name), "utf8");
const { name, base_url } = JSON.parse(read("agent.json"));
export { name };
export const base = base_url;
export const self = new URL("/v1/agents/self", base);

const ES256 = { name: "ECDSA", namedCurve: "P-256" };
const importKey = (jwk, usage) => crypto.subtle.importKey("jwk", jwk, ES256, true, [usage]);

async function pair({ d, ...open }) {
  return { privateKey: await importKey({ ...open, d }, "sign"), publicKey: await importKey(open, "verify") };
}

// The key that proofs are signed with, and that of the certificate, which signs client assertions.
export const dpopJwk = JSON.parse(read("dpop.jwk"));
export const dpopKeys = await pair(dpopJwk);
const leafKey = createPrivateKey(read("agent.key"));
export const certificateKeys = await pair({
  ...createPublicKey(leafKey).export({ format: "jwk" }),
  d: leafKey.export({ format: "jwk" }).d,
});
export const strangerKeys = await crypto.subtle.generateKey(ES256, true, ["sign", "verify"]);

export const tls = { ca: read("ca.crt"), cert: read("agent.crt"), key: read("agent.key") };

export function say(document) {
  process.stdout.write(JSON.stringify(document) + "\n");
}
