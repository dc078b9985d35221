// How fast is a whole LLM exchange: edge, fresh proof, policy, inspection, durable audit, upstream?
//
// Every call carries a proof of its own. One answer of `use_dpop_nonce` to a call is answered and counted apart;
// anything else but a 200 with text in it is a failure. The upstream is `mastio stub-llm`; its latency is inside
// the measured time, so compare with DIRECT_URL, which makes the same calls to the stub itself, without credential.
// DIALECT, MODEL, TEXT: see lib/llm.js. P95_MS and P99_MS move the pass line (defaults 250 and 500).

import http from 'k6/http';
import exec from 'k6/execution';
import { Agent, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { body, dialectName, headers, isRight, path } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const direct = (__ENV.DIRECT_URL || '').replace(/\/$/, '');

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: [`p(95)<${__ENV.P95_MS || 250}`, `p(99)<${__ENV.P99_MS || 500}`],
  },
);

let agent = null;

async function call(content, opened) {
  if (direct) {
    return http.post(direct + path, content, { headers, tags: { name: path } });
  }
  agent = agent || new Agent(opened);
  return agent.call('POST', path, content, headers);
}

export const setup = direct ? () => null : openAgent;

export default async function (opened) {
  const content = body(`${exec.vu.idInTest}-${exec.vu.iterationInInstance}`);
  await exchange(() => call(content, opened), isRight);
}

const where = direct ? 'at the stub itself' : 'through the edge';
export const handleSummary = summarize(`${dialectName} chat ${where}: how fast?`);
