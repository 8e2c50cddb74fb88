/** What requests turned out to cost is charged, through each real proxy: failed logins, and tokens of a model. */
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { ProgramName } from '../support/programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoyForModels,
  startHaproxy,
  startNginx,
} from '../support/proxies.ts';
import { Random } from '../support/random.ts';
import { isShort } from '../support/short-form.ts';
import {
  AT_ONCE,
  ChargedApplication,
  TOKEN_LIMIT,
  UNKNOWN,
} from './support/charged-application.ts';
import { produced, TOKENS } from './support/model/model-server.ts';

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

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const messages = [{ role: 'user', content: 'how many tokens does this take' }];
const WITH_USAGE = { messages, stream: true, stream_options: { include_usage: true } };
const STREAMS = isShort ? 100 : 1_000;
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

  testHere('admits as many parallel streams of one client as have reserved', async () => {
    const address = '127.0.4.4';
    const body = JSON.stringify({ messages, stream: true, model: 'slow' });
    const before = application.model.answers.length;
    const streams = Array.from({ length: 100 }, () =>
      application.post(address, MESSAGES, { body }),
    );
    const answered = () => application.model.answers.length - before;
    let denied = 0;
    for (const each of streams) void each.then(({ status }) => status === 429 && denied++);
    await eventually(
      async () => denied,
      (count) => count === streams.length - AT_ONCE,
    );
    application.model.next(1_000);
    await Promise.all(streams);
    expect(answered()).toBe(AT_ONCE);
    await application.settled(AT_ONCE);
    const tokens = application.model.answers.slice(before).map(produced);
    const sum = tokens.reduce((total, each) => total + each, 0);
    const limit = AT_ONCE * 100;
    // Envoy finds no sum in answers of Anthropic's API.
    expect(await application.charged(address, MESSAGES, limit)).toBe(settlesItself ? sum : limit);
  });

  testHere('charges no aborted stream less than the model had produced', async () => {
    const random = new Random(1);
    const before = application.model.answers.length;
    const addresses = Array.from({ length: STREAMS }, (_, i) => `127.1.${i >> 8}.${i & 255}`);
    for (let i = 0; i < addresses.length; i += 20) {
      const some = addresses.slice(i, i + 20);
      await Promise.all(some.map((each) => abort(application.url, each, random.below(4_000))));
    }
    await application.settled(STREAMS);
    const answers = application.model.answers.slice(before);
    expect(answers).toHaveLength(STREAMS);
    const input = JSON.stringify(messages).split(/\s+/).length;
    const largest = Math.max(...answers.map(produced));
    expect(largest).toBeLessThan(UNKNOWN);
    const charges = await Promise.all(
      addresses.map((each) => application.charged(each, CHAT, TOKEN_LIMIT)),
    );
    const whole = input + TOKENS;
    for (const charge of charges) expect([whole, UNKNOWN]).toContain(charge);
    const cut = answers.filter(({ isWhole }) => !isWhole).length;
    expect(charges.filter((each) => each === UNKNOWN).length).toBeGreaterThanOrEqual(cut);
    const charged = charges.reduce((sum, each) => sum + each, 0);
    const sent = answers.map(produced).reduce((sum, each) => sum + each, 0);
    expect(charged).toBeGreaterThanOrEqual(sent);
  });
});

/** Hangs up once the stream has begun and so many bytes of it have come, or at its end. */
async function abort(url: string, localAddress: string, bytes: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const headers = { 'Content-Type': 'application/json' };
  const agent = new Agent({ localAddress });
  const sent = request({ hostname, port, path: CHAT, method: 'POST', headers, agent });
  await new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let received = 0;
      response.on('error', () => {});
      response.on('close', resolve);
      response.on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received >= bytes) response.destroy();
      });
    });
    sent.end(JSON.stringify(WITH_USAGE));
  });
}
