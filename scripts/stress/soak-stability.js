// Does the appliance stay the same under an hour of steady work: no growth, no errors, no slowing down?
//
// 50 callers for DURATION (default 60m), each pausing PAUSE seconds (default 0.25) between its exchanges, so that
// the log does not fill the disk. WORK=health asks only for /health and needs no identity.
// Memory is sampled by `scripts/stress/run`, since a load generator cannot see the processes: run it from there.

import http from 'k6/http';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { Agent, baseUrl, countExchange, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { body, headers, isRight, path } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const onlyHealth = __ENV.WORK === 'health';
const pause = Number(__ENV.PAUSE || 0.25);

export const options = optionsOf(
  { vus: 50, duration: '60m' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: ['p(95)<250', 'p(99)<500'],
  },
);

let agent = null;

async function chat(opened) {
  agent = agent || new Agent(opened);
  const content = body(`${exec.vu.idInTest}-${exec.vu.iterationInInstance}`);
  await exchange(() => agent.call('POST', path, content, headers), isRight);
}

function health() {
  const response = http.get(`${baseUrl}/health`);
  countExchange(response, response.status === 200);
}

export const setup = onlyHealth ? () => null : openAgent;

export default async function (opened) {
  await (onlyHealth ? health() : chat(opened));
  sleep(pause);
}

export const handleSummary = summarize('Does the appliance stay the same under steady work?');
