// What does redaction cost: without it, of requests, of replies as well, and of replies that are streamed?
//
// `run` sets the policies of each step (lib/redactions.py) before it calls this: a whole exchange with a fresh proof, as
// in llm-chat.js, with personal data and a secret in the prompt unless TEXT=clean. STREAM=1 asks for a stream and wants
// all of its CHUNKS pieces. Start the stub with `--pii`, so that there is something in the replies. DIRECT_URL, BY: see
// lib/asking.js. DIALECT, MODEL: see lib/llm.js.

import exec from 'k6/execution';
import { exchange, options as optionsOf } from './lib/mastio.js';
import { ask, open, shown, where } from './lib/asking.js';
import { body, dialectName, headers, isRight, path, streamBody, streamPath } from './lib/llm.js';
import { summarize } from './lib/summary.js';

const streamed = __ENV.STREAM === '1';

export const options = optionsOf(
  { vus: 20, duration: '20s' },
  { exchange_failed: ['rate==0'], exchanges_answered: ['count>0'] },
  shown,
);

export const setup = open;

// A stream that ends as its dialect does; how many pieces it has is the redaction's to say.
const isRightStream = (response) => response.status === 200 && !response.body.includes('"error"');

export default async function (opened) {
  const number = `${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
  const content = streamed ? streamBody(number) : body(number);
  const target = streamed ? streamPath : path;
  await exchange(() => ask(target, content, headers, opened), streamed ? isRightStream : isRight);
}

export const handleSummary = summarize(`${dialectName} ${streamed ? 'stream' : 'chat'} ${where}: what does redaction cost?`);
