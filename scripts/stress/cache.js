// How often does an answer come from memory, and how fast, when a share of the calls was asked before?
//
// REPEAT percent of the calls (default 80) ask one of fifty questions that were asked before the load began; the others
// are new. A repeated one has to be a HIT and a new one a MISS: anything else is a failure, and so is a hit rate that is
// more than one point off. Every call has one answer (temperature 0). DIRECT_URL makes the same calls to the stub
// itself: what a hit saves is its latency. DIALECT, MODEL: see lib/llm.js.

import http from 'k6/http';
import exec from 'k6/execution';
import { Rate, Trend } from 'k6/metrics';
import { Agent, exchange, openAgent, options as optionsOf } from './lib/mastio.js';
import { dialectName, headers, isRight, path, settledBody } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const QUESTIONS = 50;
const repeat = Number(__ENV.REPEAT || 80);
const direct = (__ENV.DIRECT_URL || '').replace(/\/$/, '');

const hits = new Rate('cache_hits');
const hitDuration = new Trend('hit_duration', true);
const missDuration = new Trend('miss_duration', true);

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    ...(direct ? {} : { cache_hits: [`rate>=${(repeat - 1) / 100}`, `rate<=${(repeat + 1) / 100}`] }),
  },
);

let agent = null;

function call(content, opened) {
  if (direct) {
    return http.post(direct + path, content, { headers, tags: { name: path } });
  }
  agent = agent || new Agent(opened);
  return agent.call('POST', path, content, headers);
}

const question = (run, number) => settledBody(`${run}-question-${number}`);

export async function setup() {
  const run = `${Date.now()}`;
  if (direct) {
    return { run };
  }
  const opened = await openAgent();
  for (let number = 0; number < QUESTIONS; number += 1) {
    const response = await call(question(run, number), opened);
    if (!isRight(response)) {
      throw new Error(`no answer to begin with: ${response.status} ${response.body || response.error}`);
    }
  }
  return { run, opened };
}

function isAsExpected(response, expected) {
  if (!isRight(response)) {
    return false;
  }
  if (!direct) {
    const word = response.headers['X-Cache'];
    hits.add(word === 'HIT');
    (word === 'HIT' ? hitDuration : missDuration).add(response.timings.duration);
    return word === expected;
  }
  return true;
}

export default async function ({ run, opened }) {
  const number = exec.scenario.iterationInTest;
  const again = (number * 61) % 100 < repeat; // 61: spread evenly, so that a run that ends anywhere has the share
  const content = again ? question(run, number % QUESTIONS) : settledBody(`${run}-new-${number}`);
  await exchange(
    () => call(content, opened),
    (response) => isAsExpected(response, again ? 'HIT' : 'MISS'),
  );
}

const where = direct ? 'at the stub itself' : `through the edge, ${repeat} % asked before`;
export const handleSummary = summarize(`${dialectName} chat ${where}: how many from memory, how fast?`);
