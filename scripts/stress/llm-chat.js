// How fast is a whole LLM exchange: edge, fresh proof, policy, inspection, durable audit, upstream?
//
// Every call carries a proof of its own. One answer of `use_dpop_nonce` to a call is answered and counted apart;
// anything else but a 200 with text in it is a failure. The upstream is `mastio stub-llm`; its latency is inside
// the measured time, so compare with DIRECT_URL, which makes the same calls to the stub itself, without credential.
// DIRECT_URL, BY: see lib/asking.js. DIALECT, MODEL, TEXT: see lib/llm.js. P95_MS and P99_MS move the pass line
// (defaults 250 and 500).

import exec from 'k6/execution';
import { exchange, options as optionsOf } from './lib/mastio.js';
import { ask, open, shown, where } from './lib/asking.js';
import { body, dialectName, headers, isRight, path } from './lib/llm.js';
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

export default async function (opened) {
  const content = body(`${exec.vu.idInTest}-${exec.vu.iterationInInstance}`);
  await exchange(() => ask(path, content, headers, opened), isRight);
}

export const handleSummary = summarize(`${dialectName} chat ${where}: how fast?`);
