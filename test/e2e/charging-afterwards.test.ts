/** What requests turned out to cost is charged, through each real proxy: failed logins, and tokens of a model. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { abortStreams, wrongCharges } from '../support/aborted-streams.ts';
import {
  ASKED,
  AT_ONCE,
  CHAT,
  ChargedApplication,
  TOKEN_LIMIT,
  UNKNOWN,
} from '../support/charged-application.ts';
import { eventually } from '../support/eventually.ts';
import { produced } from '../support/model/model-server.ts';
import type { ProgramName } from '../support/programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoyForModels,
  startHaproxy,
  startNginx,
} from '../support/proxies.ts';

interface Row {
  readonly program: ProgramName;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
  /** Otherwise the proxy reports outcomes. */
  readonly settlesItself: boolean;
}

/** The login of the tests tells by a header. */
const LOGGED = { '#additional_response_headers_to_log': 'additional_response_headers_to_log' };

const ROWS: readonly Row[] = [
  { program: 'nginx', start: startNginx, settlesItself: true },
  { program: 'caddy', start: startCaddy, settlesItself: true },
  { program: 'haproxy', start: startHaproxy, settlesItself: true },
  {
    program: 'envoy',
    start: (behind) => startEnvoyForModels({ ...behind, changes: LOGGED }),
    settlesItself: false,
  },
];

const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const messages = ASKED;
const WITH_USAGE = { messages, stream: true, stream_options: { include_usage: true } };
const programs = inject('programs');

describe.each(ROWS)('$program', ({ program, start, settlesItself }) => {
  const isHere = programs[program] !== undefined;
  let application: ChargedApplication;
  beforeAll(async () => {
    if (isHere) application = await ChargedApplication.start(start, settlesItself);
  });
  afterAll(() => application?.[Symbol.asyncDispose]());
  const testHere = test.skipIf(!isHere);

  const logIn = async (address: string, headers: Record<string, string>) =>
    (await application.post(address, '/login', { headers })).status;

  testHere('lets a hundred good logins through, and five failed ones', async () => {
    const address = '127.0.4.1';
    for (let i = 0; i < 100; i++) {
      expect(await logIn(address, { 'X-Password': 'right' })).toBe(200);
      await application.settled(1);
    }
    for (let i = 0; i < 5; i++) expect(await logIn(address, { 'X-Password': 'wrong' })).toBe(200);
    await application.settled(5);
    expect(await logIn(address, { 'X-Password': 'right' })).toBe(429);
  });

  testHere('counts logins under way, also good ones', async () => {
    const headers = { 'X-Password': 'right', 'X-Hold': 'yes' };
    const logins = Array.from({ length: 6 }, () => logIn('127.0.4.2', headers));
    expect(await Promise.any(logins)).toBe(429);
    await eventually(
      async () => application.held,
      (held) => held === 5,
    );
    application.release();
    expect((await Promise.all(logins)).toSorted()).toEqual([200, 200, 200, 200, 200, 429]);
    await application.settled(5);
  });

  testHere('charges tokens as the model reports them, and unknown without a report', async () => {
    const address = '127.0.4.3';
    const bodies = [
      { messages },
      WITH_USAGE,
      { ...WITH_USAGE, max_tokens: 3 },
      { messages, model: 'silent' },
      { messages, stream: true },
      { ...WITH_USAGE, model: 'cut' },
    ];
    const before = application.model.answers.length;
    for (const body of bodies) {
      const sent = application.post(address, CHAT, { body: JSON.stringify(body) });
      await sent.catch(() => undefined);
    }
    await application.settled(bodies.length);
    const answers = application.model.answers.slice(before).map(produced);
    expect(answers).toHaveLength(bodies.length);
    const reported = answers.slice(0, 3).reduce((sum, tokens) => sum + tokens, 0);
    const charged = await application.charged(address, CHAT, TOKEN_LIMIT);
    expect(charged).toBe(reported + 3 * UNKNOWN);
  });

  /** Sends a hundred requests, and lets the model answer once all but those that have reserved are denied. */
  async function streamAtOnce(address: string, path: string, body: string): Promise<void> {
    const streams = Array.from({ length: 100 }, () => application.post(address, path, { body }));
    let denied = 0;
    for (const each of streams) void each.then(({ status }) => status === 429 && denied++);
    await eventually(
      async () => denied,
      (count) => count === streams.length - AT_ONCE,
    );
    application.model.next(1_000);
    await Promise.all(streams);
  }

  testHere('admits as many parallel streams of one client as have reserved', async () => {
    const address = '127.0.4.4';
    const body = JSON.stringify({ messages, stream: true, model: 'slow' });
    const before = application.model.answers.length;
    await streamAtOnce(address, MESSAGES, body);
    expect(application.model.answers.length - before).toBe(AT_ONCE);
    await application.settled(AT_ONCE);
    const tokens = application.model.answers.slice(before).map(produced);
    const sum = tokens.reduce((total, each) => total + each, 0);
    const limit = AT_ONCE * 100;
    // Envoy finds no sum in answers of Anthropic's API.
    expect(await application.charged(address, MESSAGES, limit)).toBe(settlesItself ? sum : limit);
  });

  testHere(
    'lets streams take no more than the limit and what they took beyond reserving',
    async () => {
      const address = '127.0.4.5';
      const body = JSON.stringify({ input: ASKED, stream: true, model: 'slow-long' });
      const before = application.model.answers.length;
      await streamAtOnce(address, RESPONSES, body);
      await application.settled(AT_ONCE);
      expect((await application.post(address, RESPONSES, { body })).status).toBe(429);
      const used = application.model.answers.slice(before).map(produced);
      expect(used).toEqual(Array.from({ length: AT_ONCE }, () => UNKNOWN));
    },
  );

  testHere('charges no aborted stream less than the model had produced', async () => {
    const streams = await abortStreams(application, { streams: 100, seed: 1 });
    expect(wrongCharges(streams)).toEqual([]);
  });
});
