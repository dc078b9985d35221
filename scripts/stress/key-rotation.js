// Are keys rotated under load without one failed request?
//
// RATE calls a second (default 100) for DURATION (default 60s), in turn GET /v1/agents/self and a chat call to the
// stub provider, each with a proof. Every caller gets a new token after TOKEN_SECONDS (default 5), so that old tokens
// and new ones, by the old key and by the new one, are in use at the same time. CERTIFICATE=shown: connections show the
// agent's certificate too. The keys are rotated by `scripts/stress/run`: run it from there.
// HTTP/2, or HTTP/1.1 with GODEBUG=http2client=0. A request that no answer came to counts as failed: nothing is repeated
// by this script. What Go's HTTP client repeats by itself is what RFC 9113, section 8.7, and RFC 9112, section 9.3.1,
// permit to.

import exec from 'k6/execution';
import { check } from 'k6';
import { Agent, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { body, headers, isRight as isChat, path } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const tokenSeconds = Number(__ENV.TOKEN_SECONDS || 5);

export const options = optionsOf(
  { rate: 100, duration: '60s' },
  {
    http_req_failed: ['rate==0'],
    exchange_failed: ['rate==0'],
    checks: ['rate==1'],
    exchanges_answered: ['count>0'],
  },
  { certificate: __ENV.CERTIFICATE === 'shown' },
);

let agent = null;
let since = 0;

const isSelf = (response) => response.status === 200 && response.json('status') === 'active';

// Says what a wrong answer was: a rotation's failures are few, and each has a cause.
function judged(isRight) {
  return (response) => {
    const right = check(response, { 'answered rightly': isRight });
    if (!right) {
      console.error(`${response.proto} ${response.request.method} ${response.status} ${response.error || response.body}`);
    }
    return right;
  };
}

async function ask() {
  if (Date.now() - since > tokenSeconds * 1000) {
    agent.token = null; // the next call gets a new one
    since = Date.now();
  }
  const number = exec.scenario.iterationInTest;
  if (number % 2 === 0) {
    await exchange(() => agent.call('GET', '/v1/agents/self', null), judged(isSelf));
  } else {
    await exchange(() => agent.call('POST', path, body(`${number}`), headers), judged(isChat));
  }
}

export const setup = openAgent;

export default async function (opened) {
  agent = agent || new Agent(opened);
  await ask();
}

export const handleSummary = summarize('Keys are rotated under load: does any request fail?');
