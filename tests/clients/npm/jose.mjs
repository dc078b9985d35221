// jose and dpop: proofs built by hand, the token verified with the published keys, its binding computed.
import { generateProof } from "dpop";
import { SignJWT, calculateJwkThumbprint, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { base, certificateKeys, dpopJwk, dpopKeys, name, say, self, strangerKeys } from "./identity.mjs";

const metadata = await (await fetch(new URL("/.well-known/oauth-authorization-server", base))).json();

const assertion = () =>
  new SignJWT({})
    .setProtectedHeader({ alg: "ES256" })
    .setIssuer(name)
    .setSubject(name)
    .setAudience(metadata.token_endpoint)
    .setJti(crypto.randomUUID())
    .setIssuedAt()
    .setExpirationTime("1 minute")
    .sign(certificateKeys.privateKey);

async function getToken(nonce) {
  return fetch(metadata.token_endpoint, {
    method: "POST",
    headers: { DPoP: await generateProof(dpopKeys, metadata.token_endpoint, "POST", nonce) },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: name,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: await assertion(),
    }),
  });
}

const challenged = await getToken();
const challenge = await challenged.json();
const granted = await (await getToken(challenged.headers.get("dpop-nonce"))).json();
const token = granted.access_token;

async function call(keys, nonce, proofToken = token) {
  const DPoP = await generateProof(keys, self.href, "GET", nonce, proofToken);
  const response = await fetch(self, { headers: { Authorization: `DPoP ${token}`, DPoP } });
  const wanted = /error="([a-z_]+)"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
  return { status: response.status, wanted, nonce: response.headers.get("dpop-nonce"), body: await response.json() };
}

const without = await call(dpopKeys);
const good = await call(dpopKeys, without.nonce);
const stranger = await call(strangerKeys, good.nonce);
const otherToken = await call(dpopKeys, good.nonce, "another");

const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
const { payload, protectedHeader } = await jwtVerify(token, keys, {
  issuer: metadata.issuer,
  audience: base,
  typ: "at+jwt",
  algorithms: ["ES256"],
  maxTokenAge: "10 minutes",
  requiredClaims: ["sub", "client_id", "jti", "exp", "cnf"],
});
const { d, ...open } = dpopJwk;

say({
  challenge: [challenged.status, challenge.error],
  without: [without.status, without.wanted],
  good: [good.status, good.body.name],
  stranger: [stranger.status, stranger.wanted],
  otherToken: [otherToken.status, otherToken.wanted],
  subject: payload.sub,
  bound: payload.cnf.jkt === (await calculateJwkThumbprint(open)),
  kid: protectedHeader.kid === decodeProtectedHeader(token).kid,
});
