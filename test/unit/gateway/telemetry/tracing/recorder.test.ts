/** What a collector gets of checks: which are sampled, their spans, and what is said if spans are lost. */
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TracingSettings } from '../../../../../src/gateway/config/settings/environment.ts';
import { BLOCKED, EXEMPT } from '../../../../../src/gateway/core/counting/decision.ts';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import { createRecorder } from '../../../../../src/gateway/telemetry/tracing/recorder.ts';
import {
  createTracingEvents,
  inSpan,
  NO_TRACING,
  openTracing,
} from '../../../../../src/gateway/telemetry/tracing/tracing.ts';
import { type Collector, startCollector } from '../../../../support/collector.ts';
import { listenLocally } from '../../../../support/local-server.ts';
import { observedTelemetry } from '../../../../support/telemetry.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SAMPLED = { traceparent: `00-${TRACE}-${PARENT}-01` };
const UNSAMPLED = { traceparent: `00-${TRACE}-${PARENT}-00` };

let collector: Collector;
let lost: string[];
beforeEach(async () => {
  lost = [];
  collector = await startCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await collector[Symbol.asyncDispose]();
});

function settingsOf(sampler: string, samplerArgument = ''): TracingSettings {
  return { protocol: 'http/protobuf', sampler, samplerArgument };
}

function recorderOf(sampler: string, argument?: string) {
  const causes = lost;
  return createRecorder(settingsOf(sampler, argument), (cause) => causes.push(cause));
}

describe('the sampler', () => {
  test.each([
    ['always_on', '', [true, true, true]],
    ['always_off', '', [false, false, false]],
    ['traceidratio', '1', [true, true, true]],
    ['traceidratio', '', [true, true, true]],
    ['traceidratio', '0', [false, false, false]],
    ['parentbased_always_on', '', [true, true, false]],
    ['parentbased_always_off', '', [false, true, false]],
    ['parentbased_traceidratio', '0', [false, true, false]],
    ['parentbased_traceidratio', '1', [true, true, false]],
  ])(
    '%s %j samples checks without a parent, with a sampled one, with another: %j',
    async (name, argument, expected) => {
      const { startSpan, close } = recorderOf(name, argument);
      const spans = [{}, SAMPLED, UNSAMPLED].map((headers) => startSpan(headers));
      expect(spans.map((span) => span !== undefined)).toEqual(expected);
      await close();
      expect(lost).toEqual([]);
    },
  );

  test('takes a part of the traces, each as a whole', async () => {
    const { startSpan, close } = recorderOf('traceidratio', '0.5');
    const isSampled = (id: string) =>
      startSpan({ traceparent: `00-${id}-${PARENT}-00` }) !== undefined;
    // The sampler looks at the four words together.
    expect(isSampled(`7${'f'.repeat(6)}${'0'.repeat(25)}`)).toBe(true);
    expect(isSampled(`8${'0'.repeat(31)}`)).toBe(false);
    await close();
  });

  test.each([
    '',
    'ALWAYS_ON',
    'on',
    'parentbased_',
    'parentbased_jaeger',
    'constructor',
    'toString',
  ])('%j is none', (name) => {
    expect(() => recorderOf(name)).toThrow(
      'OTEL_TRACES_SAMPLER: must be one of always_on, parentbased_always_on, always_off, parentbased_always_off, traceidratio, parentbased_traceidratio',
    );
  });

  test.each(['-0.1', '1.1', 'half', 'NaN'])('has no ratio of %s', (argument) => {
    for (const name of ['traceidratio', 'parentbased_traceidratio']) {
      expect(() => recorderOf(name, argument)).toThrow(
        'OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1',
      );
    }
    // The others have none.
    expect(() => recorderOf('always_on', argument)).not.toThrow();
  });
});

describe('the spans', () => {
  test('of a check and its takes say what was decided, and belong to the trace of the caller', async () => {
    const { startSpan, close } = recorderOf('parentbased_always_off');
    const span = startSpan(SAMPLED);
    span?.startTake(3).answered(true);
    span?.startTake(1).answered(false);
    span?.decided({ ...BLOCKED, policy: 'login', denial: { id: 'd.1' } as never });
    await close();
    const spans = await collector.got(3);
    const check = spans.find(({ name }) => name === 'headgate.check');
    expect(check).toMatchObject({
      ...{ traceId: TRACE, parentSpanId: PARENT, kind: 2, isError: false, service: 'headgate' },
      attributes: {
        'headgate.verdict': 'deny',
        'headgate.reason': 'blocked',
        'headgate.mode': 'enforced',
        'headgate.policy': 'login',
        'headgate.decision_id': 'd.1',
      },
    });
    expect(check?.attributes).not.toHaveProperty('headgate.limit');
    const takes = spans.filter(({ name }) => name === 'headgate.take');
    expect(takes.map(({ attributes }) => attributes)).toEqual([
      { 'headgate.descriptors': 3, 'headgate.admitted': true },
      { 'headgate.descriptors': 1, 'headgate.admitted': false },
    ]);
    for (const take of takes) {
      expect(take).toMatchObject({ traceId: TRACE, parentSpanId: check?.spanId, kind: 3 });
    }
    expect(lost).toEqual([]);
  });

  test('that failed say why: the reason of the store, or a fault', async () => {
    const { startSpan, close } = recorderOf('always_on');
    const span = startSpan({});
    span?.startTake(1).failed(new StoreError('timeout', 'late'));
    span?.failed(new Error('a secret of the code'));
    await close();
    const spans = await collector.got(2);
    const failures = spans.map(({ name, isError, attributes }) => [
      name,
      isError,
      attributes['error.type'],
    ]);
    expect(failures).toEqual([
      ['headgate.take', true, 'timeout'],
      ['headgate.check', true, 'fault'],
    ]);
    expect(collector.received()).not.toContain('a secret of the code');
    expect(spans.find(({ name }) => name === 'headgate.check')?.parentSpanId).toBe('');
  });

  test('have the resource that the environment names', async () => {
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'service.name=edge');
    const { startSpan, close } = recorderOf('always_on');
    startSpan({})?.decided(EXEMPT);
    await close();
    expect((await collector.got(1))[0]?.service).toBe('edge');
  });

  test('that the collector refuses are reported', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `${collector.url}/elsewhere`);
    const { startSpan, close } = recorderOf('always_on');
    startSpan({})?.decided(EXEMPT);
    await close();
    expect(lost).toEqual(['Not Found']);
  });

  test('that a collector does not answer are reported, and the end waits two seconds', async () => {
    const silent = createServer();
    await using server = await listenLocally(silent);
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${server.port}`);
    const { startSpan, close } = recorderOf('always_on');
    startSpan({})?.decided(EXEMPT);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const closed = close();
      await vi.advanceTimersByTimeAsync(1_999);
      expect(lost).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await closed;
    } finally {
      vi.useRealTimers();
    }
    expect(lost).toEqual(['the collector did not answer before the process ended']);
  });
});

describe('tracing', () => {
  function events() {
    const observed = observedTelemetry();
    return { ...observed, tracing: observed.telemetry.tracing };
  }

  test('is none without a collector', async () => {
    const { tracing, lines } = events();
    const opened = await openTracing(undefined, tracing);
    expect(opened).toBe(NO_TRACING);
    expect(opened.startSpan).toBeUndefined();
    await opened.close();
    expect(lines()).toEqual([]);
  });

  test('records with a collector', async () => {
    const { tracing, lines } = events();
    const { startSpan, close } = await openTracing(settingsOf('always_on'), tracing);
    startSpan?.({})?.decided(EXEMPT);
    await close();
    expect(await collector.got(1)).toHaveLength(1);
    expect(lines()).toEqual([]);
  });

  test.each<[string, TracingSettings]>([
    [
      'OTEL_EXPORTER_OTLP_PROTOCOL: headgate exports over http/protobuf only',
      { ...settingsOf('always_on'), protocol: 'grpc' },
    ],
    ['OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1', settingsOf('traceidratio', '2')],
  ])('is off, with a remedy, if a setting is wrong: %s', async (remedy, settings) => {
    const { tracing, lines } = events();
    expect(await openTracing(settings, tracing)).toBe(NO_TRACING);
    expect(lines()).toMatchObject([{ event: 'tracing_off', level: 40, remedy }]);
  });

  test('is off, with what to install, if the SDK is not there', async () => {
    const { tracing, lines } = events();
    const missing = Object.assign(new Error('no module'), { code: 'ERR_MODULE_NOT_FOUND' });
    // As its import would fail.
    const settings = {
      ...settingsOf('always_on'),
      get protocol(): string {
        throw missing;
      },
    };
    expect(await openTracing(settings, tracing)).toBe(NO_TRACING);
    expect(lines()).toMatchObject([
      {
        event: 'tracing_off',
        remedy:
          'install OpenTelemetry beside headgate: npm install @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/exporter-trace-otlp-proto',
      },
    ]);
  });

  test('names at most 80 characters of a cause', () => {
    const { tracing, lines } = events();
    tracing.spansLost('a'.repeat(81));
    expect(lines()).toMatchObject([{ event: 'spans_lost', cause: 'a'.repeat(80) }]);
  });

  test('has a line for what it cannot load', async () => {
    const written: object[] = [];
    const { off } = createTracingEvents({
      linesOf: () => (event: string, fields: object) => written.push({ event, ...fields }),
    } as never);
    off('install it');
    expect(written).toEqual([{ event: 'tracing_off', remedy: 'install it' }]);
  });
});

describe('in a span', () => {
  const fault = new Error('fault');
  const spanOf = (told: unknown[]) => ({
    startTake: () => expect.unreachable(),
    decided: (decision: unknown) => void told.push('decided', decision),
    failed: (error: unknown) => void told.push('failed', error),
  });
  const decisionOf = () => EXEMPT;

  test('the decision is told, at once or later, and the result is the same', async () => {
    const told: unknown[] = [];
    const span = spanOf(told);
    expect(inSpan(span, (given) => [given], decisionOf)).toEqual([span]);
    expect(told).toEqual(['decided', EXEMPT]);
    const later = inSpan(span, async () => 'later', decisionOf);
    expect(told).toHaveLength(2);
    expect(await later).toBe('later');
    expect(told).toEqual(['decided', EXEMPT, 'decided', EXEMPT]);
  });

  test('a failure is told and goes on, at once or later', async () => {
    const told: unknown[] = [];
    const fail = () => {
      throw fault;
    };
    expect(() => inSpan(spanOf(told), fail, decisionOf)).toThrow(fault);
    expect(told).toEqual(['failed', fault]);
    await expect(inSpan(spanOf(told), async () => fail(), decisionOf)).rejects.toBe(fault);
    expect(told).toEqual(['failed', fault, 'failed', fault]);
  });

  test('that is not sampled, nothing is told', () => {
    expect(
      inSpan(
        undefined,
        (given) => [given],
        () => expect.unreachable(),
      ),
    ).toEqual([undefined]);
  });
});
