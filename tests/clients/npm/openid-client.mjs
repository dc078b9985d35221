// openid-client: the same through its high-level interface, which answers nonces by itself.
import * as client from "openid-client";
import { Agent, fetch as undiciFetch } from "undici";
import { base, certificateKeys, dpopKeys, name, say, self, tls } from "./identity.mjs";

const oauth2 = { algorithm: "oauth2" };
const byAssertion = client.PrivateKeyJwt(certificateKeys.privateKey);
const proving = await client.discovery(new URL(base), name, undefined, byAssertion, oauth2);
const DPoP = client.getDPoPHandle(proving, dpopKeys);
const proven = await client.clientCredentialsGrant(proving, undefined, { DPoP });
const first = await client.fetchProtectedResource(proving, proven.access_token, self, "GET", null, undefined, { DPoP });

const dispatcher = new Agent({ connect: tls });
const showing = await client.discovery(new URL(base), name, undefined, client.TlsClientAuth(), {
  ...oauth2,
  [client.customFetch]: (url, options) => undiciFetch(url, { ...options, dispatcher }),
});
const shown = await client.clientCredentialsGrant(showing);
const second = await client.fetchProtectedResource(showing, shown.access_token, self, "GET");

let refused;
try {
  await client.clientCredentialsGrant(proving, { scope: "everything" }, { DPoP });
} catch (error) {
  refused = [error.status, error.error];
}

say({
  types: [proven.token_type, shown.token_type],
  names: [(await first.json()).name, (await second.json()).name],
  lives: [proven.expiresIn() > 0, shown.expires_in],
  refused,
});
await dispatcher.close();
