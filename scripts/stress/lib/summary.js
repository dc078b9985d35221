// The end of every scenario: one screen on standard output, and everything in a file for the runner.
// SUMMARY names the file (default summary.json). Durations are in milliseconds.

const SHOWN = [
  'exchange_duration',
  'first_event',
  'after_first',
  'http_req_duration',
  'exchange_failed',
  'http_req_failed',
  'iterations',
];
const COUNTED = ['dpop_nonce_challenges', 'tokens_minted', 'dropped_iterations'];

const milliseconds = (value) => (value === undefined ? '-' : value.toFixed(2));

function describe(metric) {
  const { values } = metric;
  if (metric.type === 'trend') {
    const cuts = ['avg', 'med', 'p(95)', 'p(99)', 'max'].map((name) => `${name} ${milliseconds(values[name])}`);
    return `${cuts.join('   ')} ms   of ${values.count}`;
  }
  if (metric.type === 'rate') {
    return `${(values.rate * 100).toFixed(3)} %   ${values.passes} of ${values.passes + values.fails}`;
  }
  return `${values.count}   ${values.rate.toFixed(1)}/s`;
}

function thresholdsOf(metrics) {
  const found = [];
  for (const [name, metric] of Object.entries(metrics)) {
    for (const [line, { ok }] of Object.entries(metric.thresholds || {})) {
      found.push({ metric: name, line, ok });
    }
  }
  return found;
}

// What a scenario exports as `handleSummary`.
export function summarize(question) {
  return (data) => {
    const thresholds = thresholdsOf(data.metrics);
    const passed = thresholds.every(({ ok }) => ok);
    const rows = [...SHOWN, ...COUNTED]
      .filter((name) => data.metrics[name])
      .map((name) => `  ${name.padEnd(22)} ${describe(data.metrics[name])}`);
    const verdicts = thresholds.map(({ metric, line, ok }) => `  ${ok ? 'pass' : 'FAIL'}  ${metric} ${line}`);
    const screen = [question, ...rows, ...verdicts, passed ? 'passed' : 'FAILED', ''].join('\n');
    const seconds = data.state.testRunDurationMs / 1000;
    const report = { question, passed, seconds, thresholds, metrics: data.metrics };
    return { stdout: `${screen}\n`, [__ENV.SUMMARY || 'summary.json']: JSON.stringify(report, null, 2) };
  };
}
