// DPoP proofs (RFC 9449, section 4.2) and client assertions (RFC 7523, section 3): one JWS for each request, signed by
// the agent's own P-256 key. Used by lib/mastio.js; knows nothing of the appliance. Times are in seconds since the epoch.

import encoding from 'k6/encoding';
import { sha256 } from 'k6/crypto';

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: { name: 'SHA-256' } };

const base64url = (data) => encoding.b64encode(data, 'rawurl');

// Text to bytes through base64 and back: two native calls, where a loop in JavaScript costs more than the signature.
const asBytes = (text) => encoding.b64decode(encoding.b64encode(text));

const ASSERTION_HEADER = base64url(JSON.stringify({ typ: 'JWT', alg: 'ES256' }));

export class ProofKey {
  constructor(jwk) {
    if (jwk.kty !== 'EC' || jwk.crv !== 'P-256') {
      throw new Error(`the generator signs with P-256 keys only, and dpop.jwk is ${jwk.kty} ${jwk.crv}`);
    }
    this.jwk = jwk;
    this.key = null;
    this.hashed = { token: null, ath: null };
    const { kty, crv, x, y } = jwk;
    this.header = base64url(JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }));
  }

  hash(token) {
    if (this.hashed.token !== token) {
      this.hashed = { token, ath: sha256(token, 'base64rawurl') };
    }
    return this.hashed.ath;
  }

  // A proof that has never been used, for this method and URL (without query). `token` and `nonce` may be absent.
  async prove(method, url, token, nonce) {
    const claims = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: url,
      iat: Math.floor(Date.now() / 1000),
    };
    if (token) {
      claims.ath = this.hash(token);
    }
    if (nonce) {
      claims.nonce = nonce;
    }
    return this.sign(this.header, claims);
  }

  // An assertion that has never been used: that the client is this one, for one token request.
  async assertClient(name, audience) {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: name, sub: name, aud: audience, iat: now, exp: now + 60, jti: crypto.randomUUID() };
    return this.sign(ASSERTION_HEADER, claims);
  }

  async sign(header, claims) {
    if (this.key === null) {
      this.key = await crypto.subtle.importKey('jwk', this.jwk, ES256, false, ['sign']);
    }
    const input = `${header}.${base64url(JSON.stringify(claims))}`;
    const signature = await crypto.subtle.sign(ES256, this.key, asBytes(input));
    return `${input}.${base64url(signature)}`;
  }
}
