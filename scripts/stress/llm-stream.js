// How long does a streamed LLM answer take, to its first event and to its end: edge, fresh proof, policy, inspection, audit?
//
// Every piece of the answer has to come, and the dialect's own end after it: a stream that is cut short is a failure.
// What k6 sees of a stream is the first byte of its head (`http_req_waiting`) and its last byte. The stub sends its head
// together with the first event, and so does the appliance, so that this is also when the first event comes;
// `scripts/stress/run` watches one stream of each before it measures, piece by piece, and fails where that is not so.
//
//   LATENCY_MS  what the stub waits before each piece (default 50): `mastio stub-llm --latency`
//   CHUNKS      pieces of an answer (default 3): `mastio stub-llm --chunks`
//
// With DIRECT_URL the stub itself has to stream: the first event after one latency and the end after CHUNKS of them.
// DIRECT_URL, BY: see lib/asking.js. DIALECT, MODEL, TEXT: see lib/llm.js. P99_MS moves the pass line for the whole
// (default 500 ms more than the stub takes).

import exec from 'k6/execution';
import { Trend } from 'k6/metrics';
import { exchange, options as optionsOf } from './lib/mastio.js';
import { ask, direct, open, shown, where } from './lib/asking.js';
import { dialectName, headers, isWholeStream, streamBody, streamPath } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const latency = Number(__ENV.LATENCY_MS || 50);
const chunks = Number(__ENV.CHUNKS || 3);

const firstEvent = new Trend('first_event', true);
const afterFirst = new Trend('after_first', true);

// The loop of the stub counts in whole milliseconds, so each of its waits may be one short.
const least = latency - 1;

export const options = optionsOf(
  { vus: 20, duration: '30s' },
  {
    exchange_failed: ['rate==0'],
    exchanges_answered: ['count>0'],
    exchange_duration: [`p(99)<${__ENV.P99_MS || chunks * latency + 500}`, `min>=${chunks * least}`],
    first_event: [`min>=${least}`, ...(direct && chunks > 1 ? [`med<${2 * latency}`] : [])],
  },
  shown,
);

export const setup = open;

function isRight(response) {
  if (!isWholeStream(response, chunks)) {
    return false;
  }
  firstEvent.add(response.timings.waiting);
  afterFirst.add(response.timings.receiving);
  return true;
}

export default async function (opened) {
  const content = streamBody(`${exec.vu.idInTest}-${exec.vu.iterationInInstance}`);
  await exchange(() => ask(streamPath, content, headers, opened), isRight);
}

export const handleSummary = summarize(`${dialectName} stream ${where}: how fast to its first event, and to its end?`);
