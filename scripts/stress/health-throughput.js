// How many requests a second does the edge carry when the appliance has nothing to do but say that it lives?
//
// 0 to 50 callers in 30 s, 50 for 120 s, 50 to 100 in 60 s, down to 0 in 30 s; another load: see lib/mastio.js.
// TARGET_URL measures something else in the same way, for instance a bare server as the generator's own ceiling.
// The generator does as little as it can: the body is looked at once, before the load; then only statuses.

import http from 'k6/http';
import { baseUrl, options as optionsOf } from './lib/mastio.js';
import { summarize } from './lib/summary.js';

const url = __ENV.TARGET_URL || `${baseUrl}/health`;

http.setResponseCallback(http.expectedStatuses(200));

export const options = {
  ...optionsOf(
    {
      stages: [
        { duration: '30s', target: 50 },
        { duration: '120s', target: 50 },
        { duration: '60s', target: 100 },
        { duration: '30s', target: 0 },
      ],
    },
    { http_req_duration: ['p(95)<250'], http_req_failed: ['rate<0.01'], iterations: ['count>0'] },
  ),
  discardResponseBodies: true,
};

export function setup() {
  const response = http.get(url, { responseType: 'text' });
  if (response.status !== 200 || (!__ENV.TARGET_URL && response.json('status') !== 'ok')) {
    throw new Error(`${url} is not well: ${response.status} ${response.body || response.error}`);
  }
}

export default function () {
  http.get(url);
}

export const handleSummary = summarize(`${url}: how many requests a second?`);
