// oauth4webapi: discovery, then a token by assertion and proof, and one by certificate; each used on a resource.
import * as oauth from "oauth4webapi";
import { Agent, fetch as undiciFetch } from "undici";
import { base, certificateKeys, dpopKeys, name, say, self, strangerKeys, tls } from "./identity.mjs";

const issuer = new URL(base);
const server = await oauth
  .discoveryRequest(issuer, { algorithm: "oauth2" })
  .then((response) => oauth.processDiscoveryResponse(issuer, response));
const client = { client_id: name };

// What RFC 9449 section 8 asks of a client: once more, with the nonce that the refusal gave. The library keeps it.
let challenges = 0;
async function withNonce(send) {
  try {
    return await send();
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error;
    challenges += 1;
    return send();
  }
}

function getToken(authenticate, options) {
  return withNonce(async () => {
    const response = await oauth.clientCredentialsGrantRequest(server, client, authenticate, {}, options);
    return oauth.processClientCredentialsResponse(server, client, response);
  });
}

const DPoP = oauth.DPoP(client, dpopKeys);
const proven = await getToken(oauth.PrivateKeyJwt(certificateKeys.privateKey), { DPoP });
const call = (token, options) =>
  withNonce(() => oauth.protectedResourceRequest(token, "GET", self, undefined, undefined, options));
const first = await (await call(proven.access_token, { DPoP })).json();
const challengesAtFirst = challenges;
const second = await (await call(proven.access_token, { DPoP })).json();

const challengesAtSecond = challenges - challengesAtFirst;

const refusals = [];
for (const options of [{ DPoP: oauth.DPoP(client, strangerKeys) }, {}]) {
  try {
    await call(proven.access_token, options);
    refusals.push(200);
  } catch (error) {
    refusals.push(error.status ?? String(error));
  }
}

const dispatcher = new Agent({ connect: tls });
const byCertificate = { [oauth.customFetch]: (url, options) => undiciFetch(url, { ...options, dispatcher }) };
const shown = await getToken(oauth.TlsClientAuth(), byCertificate);
const third = await (await call(shown.access_token, byCertificate)).json();
try {
  await call(shown.access_token, {}); // without the certificate it is bound to
  refusals.push(200);
} catch (error) {
  refusals.push(error.status ?? String(error));
}
await dispatcher.close();

say({
  methods: server.token_endpoint_auth_methods_supported,
  types: [proven.token_type, shown.token_type],
  names: [first.name, second.name, third.name],
  credentials: [first.credential, third.credential],
  challenges: [challengesAtFirst, challengesAtSecond],
  refusals,
});
