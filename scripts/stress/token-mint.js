// How many access tokens a second does the token endpoint mint, each bound to a key?
//
// BY=assertion (default): the client signs an assertion and a proof for each, and shows no certificate
// (private_key_jwt, RFC 7523; DPoP, RFC 9449). BY=certificate: the connection's certificate is all (RFC 8705).
// Anything but a 200 with a token of the right type in it is a failure.

import { Agent, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { summarize } from './lib/summary.js';

const byCertificate = (__ENV.BY || 'assertion') === 'certificate';

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: [`p(95)<${__ENV.P95_MS || 250}`, `p(99)<${__ENV.P99_MS || 500}`],
  },
  { certificate: byCertificate },
);

const wanted = byCertificate ? 'Bearer' : 'DPoP';

function isRight(response) {
  return response.status === 200 && response.json('token_type') === wanted && response.json('access_token').length > 0;
}

let agent = null;

export const setup = openAgent;

export default async function (opened) {
  agent = agent || new Agent(opened);
  await exchange(() => (byCertificate ? agent.requestTokenByCertificate() : agent.requestToken()), isRight);
}

export const handleSummary = summarize(`tokens by ${byCertificate ? 'certificate' : 'assertion and proof'}: how fast?`);
