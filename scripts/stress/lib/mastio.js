// What every scenario needs to be an agent of the appliance: where it is, who we are, how much load, and calls
// that carry a fresh proof each. Settings come from the environment; `scripts/stress/run` sets them.
//
//   BASE_URL   public URL of the appliance    (default: the identity's, else https://localhost:9443)
//   IDENTITY   folder written by `mastio enroll`
//   load       RATE (+ DURATION): so many new calls a second, whether or not earlier ones were answered
//              VUS (+ DURATION): so many callers, each waiting for its answer before it calls again
//              STAGES="30s:50,120s:50": callers ramped; without any of the three, the scenario's own stages
//
// TLS is verified against SSL_CERT_FILE, which the runner sets to the appliance's CA certificate.

import http from 'k6/http';
import { sleep } from 'k6';
import { Counter, Rate, Trend } from 'k6/metrics';
import { ProofKey } from './dpop.js';

const nonceChallenges = new Counter('dpop_nonce_challenges');
const tokensMinted = new Counter('tokens_minted');
const exchangesAnswered = new Counter('exchanges_answered');
const exchangeFailed = new Rate('exchange_failed');
const exchangeDuration = new Trend('exchange_duration', true);

// A challenge is no failed request. Whether the answer after it is right is for the scenario to say.
const orChallenged = http.expectedStatuses({ min: 200, max: 299 }, 400, 401);

const identity = __ENV.IDENTITY ? readIdentity(__ENV.IDENTITY) : null;

const givenUrl = __ENV.BASE_URL || (identity && identity.baseUrl) || 'https://localhost:9443';
export const baseUrl = givenUrl.replace(/\/$/, '');

function readIdentity(folder) {
  const agent = JSON.parse(open(`${folder}/agent.json`));
  return {
    name: agent.name,
    baseUrl: agent.base_url,
    certificate: open(`${folder}/agent.crt`) + open(`${folder}/chain.pem`),
    key: open(`${folder}/agent.key`),
    proofKey: JSON.parse(open(`${folder}/dpop.jwk`)),
  };
}

function parseStages(text) {
  return text.split(',').map((stage) => {
    const [duration, target] = stage.split(':');
    return { duration: duration.trim(), target: Number(target) };
  });
}

function loadFrom(own) {
  const duration = __ENV.DURATION || own.duration || '30s';
  const rate = Number(__ENV.RATE || own.rate || 0);
  if (rate) {
    const preAllocatedVUs = Number(__ENV.VUS || 50);
    return { executor: 'constant-arrival-rate', rate, duration, preAllocatedVUs };
  }
  if (__ENV.STAGES || (own.stages && !__ENV.VUS && !__ENV.DURATION)) {
    const stages = __ENV.STAGES ? parseStages(__ENV.STAGES) : own.stages;
    return { executor: 'ramping-vus', startVUs: 0, stages };
  }
  return { executor: 'constant-vus', vus: Number(__ENV.VUS || own.vus || 50), duration };
}

// The k6 options of a scenario: its load unless the environment gives another, and its pass line. Whether connections
// show the agent's certificate.
export function options(own, thresholds, { certificate = true } = {}) {
  const load = loadFrom(own);
  const kept = load.executor === 'constant-arrival-rate' ? { dropped_iterations: ['count==0'] } : {};
  return {
    scenarios: { load },
    thresholds: { ...thresholds, ...kept },
    tlsAuth: identity && certificate ? [{ cert: identity.certificate, key: identity.key }] : [],
    summaryTrendStats: ['min', 'med', 'avg', 'p(95)', 'p(99)', 'max', 'count'],
  };
}

function headerOf(response, name) {
  // k6 gives header names in Go's canonical form: Dpop-Nonce, Www-Authenticate.
  return response.headers[name];
}

function isNonceChallenge(response) {
  if (response.status === 400) {
    return String(response.body).includes('"use_dpop_nonce"');
  }
  return response.status === 401 && (headerOf(response, 'Www-Authenticate') || '').includes('use_dpop_nonce');
}

// What `setup` hands to every virtual user, so that the load does not begin with each of them getting a token.
export async function openAgent() {
  const agent = new Agent();
  await agent.mint();
  const { token, nonce, expiresAt, lifetime } = agent;
  return { token, nonce, expiresAt, lifetime };
}

// One virtual user as the agent: its token, and the newest nonce it was given.
export class Agent {
  constructor({ token = null, nonce = null, expiresAt = 0, lifetime = 0 } = {}) {
    if (identity === null) {
      throw new Error('this scenario acts as an agent: set IDENTITY to a folder written by `mastio enroll`');
    }
    this.key = new ProofKey(identity.proofKey);
    this.token = token;
    this.nonce = nonce;
    this.expiresAt = expiresAt;
    this.lifetime = lifetime;
    // In the last tenth to third of the token's life, so that not all renew it at once.
    this.restLeft = (1 + 2 * Math.random()) / 10;
  }

  // A call as the agent. Repeated once, with the nonce it carries, when the answer is `use_dpop_nonce`.
  async call(method, path, body, headers = {}) {
    const token = await this.currentToken();
    return this.send(method, path, body, { ...headers, Authorization: `DPoP ${token}` }, token);
  }

  async currentToken() {
    if (this.token === null || Date.now() >= this.expiresAt - this.restLeft * this.lifetime) {
      await this.mint();
    }
    return this.token;
  }

  async mint() {
    const response = await this.requestToken();
    if (response.status !== 200) {
      throw new Error(`no token: ${response.status} ${response.body || response.error}`);
    }
    const { access_token: token, expires_in: seconds } = response.json();
    this.token = token;
    this.lifetime = seconds * 1000;
    this.expiresAt = Date.now() + this.lifetime;
    tokensMinted.add(1);
  }

  // The answer to a request for a token that is bound to the proof's key, by an assertion of its own each time.
  async requestToken() {
    return this.send('POST', '/oauth/token', () => this.tokenForm(), {}, null);
  }

  // The same, bound to the certificate that the connection shows: without assertion and proof.
  requestTokenByCertificate() {
    const form = { grant_type: 'client_credentials', client_id: identity.name };
    return http.post(`${baseUrl}/oauth/token`, form, { tags: { name: '/oauth/token' } });
  }

  async tokenForm() {
    return {
      grant_type: 'client_credentials',
      client_id: identity.name,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await this.key.assertClient(identity.name, baseUrl),
    };
  }

  // `body`: what to send, or a function that makes it anew.
  async send(method, path, body, headers, token) {
    const content = typeof body === 'function' ? body : () => body;
    const first = await this.sendOnce(method, path, await content(), headers, token);
    if (!isNonceChallenge(first)) {
      return first;
    }
    nonceChallenges.add(1);
    return this.sendOnce(method, path, await content(), headers, token);
  }

  async sendOnce(method, path, body, headers, token) {
    const url = baseUrl + path;
    const proof = await this.key.prove(method, url.split('?')[0], token, this.nonce);
    const parameters = { headers: { ...headers, DPoP: proof }, tags: { name: path }, responseCallback: orChallenged };
    const response = http.request(method, url, body, parameters);
    this.nonce = headerOf(response, 'Dpop-Nonce') || this.nonce;
    return response;
  }
}

// Counts one exchange. Its time is that of the answer, without signing and without an answer of `use_dpop_nonce`.
export function countExchange(response, isRight) {
  exchangeFailed.add(!isRight);
  if (isRight) {
    exchangesAnswered.add(1);
    exchangeDuration.add(response.timings.duration);
  }
}

let complained = false;

// Makes one exchange and counts it. When it cannot even be sent, because there is no token, that is a failure too:
// said once by each caller, which then waits, so that a run that cannot work does not flood anybody.
export async function exchange(send, isRight) {
  try {
    const response = await send();
    countExchange(response, isRight(response));
  } catch (error) {
    exchangeFailed.add(true);
    if (!complained) {
      console.error(error.message);
    }
    complained = true;
    sleep(1);
  }
}
