// How fast is a call to a connection: edge, fresh proof, policy, durable audit, its credential put in, upstream?
//
// Every call carries a proof of its own. The upstream is `mastio stub-llm`, described as the connection `stress` (the
// runner describes it, with a credential of kind bearer, and permits it); anything but a 200 with text in it is a
// failure. DIRECT_URL makes the same calls to the stub itself, without credential: compare with that. BY: see
// lib/asking.js. TEXT: see lib/llm.js. P95_MS and P99_MS move the pass line (defaults 250 and 500).

import exec from 'k6/execution';
import { exchange, options as optionsOf } from './lib/mastio.js';
import { ask, direct, open, shown, where } from './lib/asking.js';
import { body, headers, isRight, path } from './lib/llm.js';
import { summarize } from './lib/summary.js';

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: [`p(95)<${__ENV.P95_MS || 250}`, `p(99)<${__ENV.P99_MS || 500}`],
  },
  shown,
);

export const setup = open;

const to = direct ? path : `/v1/egress/stress${path}`;

export default async function (opened) {
  const content = body(`${exec.vu.idInTest}-${exec.vu.iterationInInstance}`);
  await exchange(() => ask(to, content, headers, opened), isRight);
}

export const handleSummary = summarize(`A call to a connection ${where}: how fast?`);
