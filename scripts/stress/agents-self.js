// How fast is the smallest exchange of an agent: edge, token, fresh proof, policy, durable audit, and nothing behind it?
//
// GET /v1/agents/self: what every exchange costs before it does anything. P95_MS and P99_MS move the pass line
// (defaults 250 and 500). k6 signs slower than the appliance verifies: for ceilings see `--generator wrk`.

import { Agent, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { summarize } from './lib/summary.js';

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: [`p(95)<${__ENV.P95_MS || 250}`, `p(99)<${__ENV.P99_MS || 500}`],
  },
  { certificate: false },
);

let agent = null;

const isRight = (response) => response.status === 200 && response.json('status') === 'active';

export const setup = openAgent;

export default async function (opened) {
  agent = agent || new Agent(opened);
  await exchange(() => agent.call('GET', '/v1/agents/self', null), isRight);
}

export const handleSummary = summarize('An agent asks who it is: how fast?');
