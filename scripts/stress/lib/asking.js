// Whom a scenario asks, and how it shows who it is: what is measured and what it is measured against differ in nothing
// else.
//
//   DIRECT_URL  ask the stub provider itself, without credential
//   BY          both (default): every call has a proof of its own, and the connection shows the certificate as well;
//               proof or certificate: one of them alone. What a proof costs is `proof` against `certificate`.

import http from 'k6/http';
import { Agent, baseUrl, openAgent } from './mastio.js';

export const direct = (__ENV.DIRECT_URL || '').replace(/\/$/, '');

const by = __ENV.BY || 'both';
if (!['both', 'proof', 'certificate'].includes(by)) {
  throw new Error(`BY is both, proof or certificate, not ${by}`);
}

// For `options`: whether connections show the certificate.
export const shown = { certificate: by !== 'proof' };

export const where = direct ? 'at the stub itself' : `through the edge, by ${by === 'both' ? 'proof and certificate' : by}`;

const plain = direct || (by === 'certificate' ? baseUrl : '');

// What a scenario exports as `setup`.
export const open = plain ? () => null : openAgent;

let agent = null;

// One call; `opened` is what `open` gave.
export function ask(path, content, headers, opened) {
  if (plain) {
    return http.post(plain + path, content, { headers, tags: { name: path } });
  }
  agent = agent || new Agent(opened);
  return agent.call('POST', path, content, headers);
}
