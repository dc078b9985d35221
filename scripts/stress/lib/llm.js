// One chat exchange in each dialect, plain and streamed: what is sent, and what a right answer is. Both generators read
// dialects.json.
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
const aroundStreamedNumber = splitAtNumber({ ...dialect.body, ...dialect.stream.body });

export const dialectName = name;
export const path = dialect.path.replace('{model}', model);
export const streamPath = (dialect.stream.path || dialect.path).replace('{model}', model);
export const headers = { 'Content-Type': 'application/json', ...dialect.headers };

// The body of one call. The number makes each prompt new, so that no cache can answer it.
export const body = (number) => aroundNumber.join(number);

// The same as a call that has one answer, which a cache may give again to the same number.
export const settledBody = (number) => aroundSettledNumber.join(number);

// The same as a call that is to be answered by a stream.
export const streamBody = (number) => aroundStreamedNumber.join(number);

const found = (steps, value) => steps.reduce((inner, step) => (inner ? inner[step] : undefined), value);

// A refused answer and an empty one are both wrong.
export function isRight(response) {
  if (response.status !== 200) {
    return false;
  }
  return isText(found(dialect.answer, response.json()));
}

const isText = (value) => typeof value === 'string' && value.length > 0;

// The JSON in one server-sent event, if it has any: `data: [DONE]` has none.
function dataOf(event) {
  const line = event.split('\n').find((one) => one.startsWith('data: {'));
  return line ? JSON.parse(line.slice('data: '.length)) : null;
}

// Every piece of the text has come, and then the dialect's own end. A stream that was cut short is wrong.
export function isWholeStream(response, pieces) {
  if (response.status !== 200 || typeof response.body !== 'string') {
    return false;
  }
  const events = response.body.replaceAll('\r\n', '\n').split('\n\n');
  const rest = events.pop(); // an event that was not ended is none
  const come = events.filter((event) => isText(found(dialect.stream.delta, dataOf(event))));
  return rest === '' && come.length === pieces && events[events.length - 1].includes(dialect.stream.end);
}
