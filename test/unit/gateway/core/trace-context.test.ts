/** The valid and invalid values are those of W3C Trace Context, section 3.2.2. */
import { describe, expect, test } from 'vitest';
import { readTraceContext } from '../../../../src/gateway/core/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;
const read = (traceparent?: string | string[]) => readTraceContext({ traceparent });

describe('a trace context', () => {
  test('has the trace, the span and the sampled flag', () => {
    expect(read(VALID)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
  });
  test.each([
    ['00', false],
    ['02', false],
    ['03', true],
    ['ff', true],
  ])('with the flags %s is sampled: %s', (flags, isSampled) => {
    expect(read(`00-${TRACE}-${SPAN}-${flags}`)?.isSampled).toBe(isSampled);
  });
  test.each(['cc', '01'])('of a later version, %s, may have more fields', (version) => {
    const known = `${version}-${TRACE}-${SPAN}-01`;
    for (const value of [known, `${known}-`, `${known}-what-comes-then`])
      expect(read(value)?.traceId).toBe(TRACE);
    expect(read(`${known}.what`)).toBeUndefined();
  });
});

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['two headers', [VALID, VALID]],
  ['two headers that a proxy joined', `${VALID},${VALID}`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capital letters', VALID.toUpperCase()],
  ['another letter', `00-${TRACE.replace('f', 'g')}-${SPAN}-01`],
  ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['the version ff', `ff-${TRACE}-${SPAN}-01`],
  ['more fields in version 00', `${VALID}-01`],
  ['a space', ` ${VALID}`],
  ['a line break', `${VALID}\n`],
  ['a very long value', `01-${TRACE}-${SPAN}-01-${'a'.repeat(100_000)}`],
])('%s is no trace context', (_name, value) => {
  expect(read(value)).toBeUndefined();
});
