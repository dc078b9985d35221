// One chat exchange in each dialect: what is sent, and what a right answer is. Both generators read dialects.json.
//
//   DIALECT    openai (default), anthropic or gemini
//   MODEL      default: a model of the stub provider in that dialect
//   TEXT       clean (default) or dirty: with fake personal data and a fake secret in the prompt

const { prompt, dirty, dialects } = JSON.parse(open(import.meta.resolve('./dialects.json')));

const name = __ENV.DIALECT || 'openai';
const dialect = dialects[name];
if (!dialect) {
  throw new Error(`DIALECT is one of ${Object.keys(dialects).join(', ')}, not ${name}`);
}
const model = __ENV.MODEL || dialect.model;
const text = (__ENV.TEXT === 'dirty' ? dirty : '') + prompt;

const splitAtNumber = (shape) =>
  JSON.stringify(shape).replace('{model}', model).replace('{prompt}', text).split('{number}');
const aroundNumber = splitAtNumber(dialect.body);
const aroundSettledNumber = splitAtNumber({ ...dialect.body, ...dialect.settled });

export const dialectName = name;
export const path = dialect.path.replace('{model}', model);
export const headers = { 'Content-Type': 'application/json', ...dialect.headers };

// The body of one call. The number makes each prompt new, so that no cache can answer it.
export const body = (number) => aroundNumber.join(number);

// The same as a call that has one answer, which a cache may give again to the same number.
export const settledBody = (number) => aroundSettledNumber.join(number);

// A refused answer and an empty one are both wrong.
export function isRight(response) {
  if (response.status !== 200) {
    return false;
  }
  const answer = dialect.answer.reduce((value, step) => (value ? value[step] : undefined), response.json());
  return typeof answer === 'string' && answer.length > 0;
}
