/** The page of the ops server in a browser: two gateways, a real Redis, and an operator who looks and acts. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { VERSION } from '../../src/gateway/config/shipped-files.ts';
import type { Output } from '../../src/gateway/operations/operation-table.ts';
import { runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  BLOCKED_ADDRESS,
  KEYS,
  newAddress,
  operate,
  override,
  policyFile,
  startOperated,
  type Visitor,
  visit,
} from '../support/operations.ts';
import { freePort } from '../support/ports.ts';
import { ownRedisIsHere, startRedis } from '../support/redis.ts';
import { openOpsPage } from './support/ops-page.ts';

const { chromium: program } = inject('programs');
const TOKEN = 'the-token-of-all-operators';
const HOSTILE = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>\u202e`;
const SHOWN = HOSTILE.replace('\u202e', '\\u{202e}');
/** A page asks every two seconds, and the machine may be busy. */
const WITHIN_MS = 60_000;
const VIEWS = ['', 'denied', 'client', 'explain', 'policies', 'overrides'];

/** Asked from here: the page's Content-Security-Policy forbids the script with which Playwright would wait in the page. */
const titled = (page: Page, view: string) =>
  eventually(
    () => page.title(),
    (found) => found.endsWith(`: ${view} (${hostname()})`),
    WITHIN_MS,
  );
/** The tests deny requests, so it may also say how many. */
const ALL_IS_WELL = /^(All is well: |[\d.]+ % of the requests were denied)/;

describe.skipIf(program === undefined || !ownRedisIsHere)('the page of the ops server', () => {
  const started = new AsyncDisposableStack();
  let policies: string;
  let one: Gateway;
  let two: Gateway;
  let browser: Browser;

  beforeAll(async () => {
    policies = policyFile(started);
    const redis = started.use(await startRedis());
    const env = { HEADGATE_REDIS_URL: redis.url };
    one = started.use(await startOperated(policies, env));
    two = started.use(await startOperated(policies, env));
    const args = ['--disable-dev-shm-usage', '--disable-gpu'];
    browser = await chromium.launch({ executablePath: program ?? '', args });
    started.defer(() => browser.close());
  });
  afterAll(() => started.disposeAsync());

  const open = (hash = '', options: BrowserContextOptions = {}, gateway: Gateway = one) =>
    openOpsPage(browser, gateway, { ...options, hash: `#/${hash}` });

  const status = async (gateway: Gateway, visitor: Visitor) =>
    (await visit(gateway, 'POST /pin', visitor)).status;

  /** Sends requests until one is denied. Resolves to its decision id. */
  async function denied(visitor: Visitor, gateway = one): Promise<string> {
    const answer = await eventually(
      () => visit(gateway, 'POST /pin', visitor),
      (each) => each.status === 429,
    );
    return String(answer.headers['x-ratelimit-decision-id']);
  }

  test.concurrent('shows how all gateways are, and the traffic of each policy', async () => {
    await denied({ address: newAddress() }, two);
    await eventually(
      () => operate<Output<'overview'>>(one, 'GET /v1/overview'),
      ({ answer }) => answer.policies.some((policy) => policy.denials.some((count) => count > 0)),
      WITHIN_MS,
    );
    await using opened = await open();
    const { page, headline, main, complaints } = opened;
    await headline.filter({ hasText: ALL_IS_WELL }).waitFor();
    await page
      .getByText(
        /(In the last 10 s: [\d.]+ requests\/s, [<\d.]+ % denied|No requests in the 10 s until [\d:]{8} UTC)\.$/,
      )
      .waitFor();
    const card = main.getByRole('article').filter({ hasText: 'pin' });
    expect(await card.getByRole('img').getAttribute('aria-label')).toMatch(
      /^Requests and denials to pin in 15 minutes, at most [\d.]+ requests\/s$/,
    );
    await card.getByText('By minute').click();
    const rows = await card.locator('tbody tr').allTextContents();
    expect(rows).toHaveLength(15);
    expect(await main.textContent()).toMatch(/2 gateways.*Redis \d.*Countingnormal on 2 gateways/);
    await titled(page, 'Overview');
    expect(complaints).toEqual([]);
  });

  test.concurrent('lets a denied client in, by its decision id', async () => {
    const visitor = { address: newAddress() };
    const id = await denied(visitor);
    await using opened = await open('client');
    const { page, main, notices, complaints, urls } = opened;
    await opened.look(id);
    await main.getByText(`Decision ${id}`).waitFor();
    expect(page.url()).toMatch(new RegExp(`#/client/${id}$`));
    const row = main.getByRole('row').filter({ hasText: '2 requests per day' });
    expect(await row.getByRole('cell').nth(2).textContent()).toBe('0');
    await opened.button('Reset…').click();
    await opened.confirm('Reset counters', { 'Reason (may be empty)': 'ticket 4711' });
    await notices.getByText('counters reset: ').waitFor();
    expect(await status(two, visitor)).toBe(200);
    // What the page shows keeps up.
    await row.getByText('now').first().waitFor();
    expect(urls.join()).not.toContain(visitor.address);
    expect(complaints).toEqual([]);
  });

  test.concurrent('lists who is denied, in place: the filter, the sorting and the focus stay', async () => {
    const visitor = { key: KEYS.globex, address: newAddress() };
    const [id] = (await denied(visitor)).split('-');
    await using opened = await open('denied');
    const { page, main } = opened;
    const row = main.getByRole('row').filter({ hasText: `${id}` });
    await row.waitFor();
    expect(await main.textContent()).not.toContain(visitor.address);
    await main.getByLabel('Filter').fill(`${id}`);
    await main.getByLabel('Filter').press('Tab');
    const denials = async () => Number(await row.getByRole('cell').nth(2).textContent());
    const before = await denials();
    const client = await row.getByRole('cell').first().textContent();
    await row.getByRole('cell').first().selectText();
    await row.getByRole('link').focus();
    await denied(visitor);
    await eventually(denials, (now) => now > before, WITHIN_MS);
    const focused = page.locator(':focus');
    expect(await page.evaluate('String(getSelection())')).toBe(client);
    expect(await focused.textContent()).toMatch(`${id}-`);
    expect(await main.getByRole('row').count()).toBe(2);
    await opened.button('Client').press('Enter');
    expect(await main.locator('[aria-sort=ascending]').textContent()).toBe('Client ↑');
    expect(await focused.textContent()).toBe('Client ↑');
  });

  test.concurrent('an override holds on another gateway, and is lifted there', async () => {
    const address = newAddress();
    await using here = await open('client');
    await here.look(address);
    await here.button('Block…').click();
    await here.confirm('Block', { For: '30min', Reason: 'a flood', 'Your name': 'alice' });
    await here.notices.getByText('blocked until').waitFor();
    await here.main.getByText('blocked by alice').waitFor();
    await eventually(
      () => status(two, { address }),
      (code) => code === 403,
    );

    await using there = await open('overrides', {}, two);
    const row = there.main.getByRole('row').filter({ hasText: 'a flood' });
    await row.getByRole('button', { name: 'Lift…' }).first().click();
    await there.confirm('Lift');
    await there.notices.getByText('no longer blocked').waitFor();
    await eventually(
      () => status(one, { address }),
      (code) => code === 200,
    );
    await here.main.getByText('Neither blocked nor exempt, and within its limits.').waitFor();
    expect([...here.complaints, ...there.complaints]).toEqual([]);
  });

  test.concurrent('names the entry that blocks a client, and its denials', async () => {
    const id = await eventually(
      () => visit(two, '/api/search', { address: BLOCKED_ADDRESS }),
      ({ status: code }) => code === 403,
    ).then(({ headers }) => String(headers['x-ratelimit-decision-id']));
    const entry = `blocks ${BLOCKED_ADDRESS}, "ticket 4711"`;
    await using opened = await open('client');
    const { main } = opened;
    for (const client of [BLOCKED_ADDRESS, id]) {
      await opened.look(client);
      await main.getByText('Every request is denied, whatever remains of its limits.').waitFor();
      expect(await main.getByRole('listitem').allTextContents()).toEqual([
        expect.stringContaining(entry),
      ]);
      const table = main.getByRole('table', { name: /^Denials of this client/ });
      await table.getByText(id.replace(/-.*/, '')).waitFor();
      expect(await opened.button('Block…').count()).toBe(0);
      expect(await opened.button('Exempt…').count()).toBe(1);
    }
    expect(opened.complaints).toEqual([]);
  });

  test.concurrent('changes the mode of a policy for a time, and restores it', async () => {
    await using opened = await open('policies');
    await opened.main.getByText('plan pro: 500 requests per hour, per client').waitFor();
    const { main, headline, page } = opened;
    const row = main.getByRole('row').filter({ hasText: '4 requests per day' });
    await row.getByRole('button', { name: 'Mode…' }).click();
    await opened.confirm('Change mode', { Mode: 'off', For: '1h', Reason: 'a bad release' });
    await row.getByText('off').first().waitFor();
    await row.getByText('a bad release').waitFor();
    await page.getByText('An operator set tokens to off; the policy file says enforce.').waitFor();
    // A busy machine may let a gateway answer late for a moment.
    await headline.filter({ hasText: ALL_IS_WELL }).waitFor();
    await row.getByRole('button', { name: 'Restore…' }).click();
    await opened.confirm('Lift');
    await row.getByRole('button', { name: 'Restore…' }).waitFor({ state: 'detached' });
  });

  test.concurrent('explains a request, which is not counted', async () => {
    await using opened = await open('explain');
    const { main, page } = opened;
    await main.getByLabel('Method').selectOption('POST');
    await main.getByLabel('Path or URL').fill(`/pin?${HOSTILE}`);
    await main.getByLabel('Headers').fill(`x-api-key: ${KEYS.acme}\naccept: */*`);
    await main.getByLabel('Client address').fill(newAddress());
    for (let i = 0; i < 3; i++) await opened.button('Explain').click();
    await main.getByText('pin applies: it is the most specific match').waitFor();
    expect(await main.textContent()).toMatch(/answer200 to envoy/);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toBe('run');
    await titled(page, 'Explain');
    await main.getByLabel('Headers').fill('nonsense');
    await opened.button('Explain').click();
    await main.getByText('write a name, a colon and a value').waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test.concurrent('hides a key while it is typed, and shows and sends it nowhere else', async () => {
    await using opened = await open('client');
    const { page, main, urls } = opened;
    const box = main.getByLabel('Decision id, address');
    await box.pressSequentially(`key:${KEYS.acme}`);
    expect(await box.getAttribute('type')).toBe('password');
    await page.keyboard.press('Enter');
    await opened.button('Exempt…').waitFor();
    expect(await box.inputValue()).toBe('');
    expect(await page.content()).not.toContain(KEYS.acme);
    expect([page.url(), ...urls].join()).not.toContain(KEYS.acme);
    await opened.look('nobody');
    await main.getByText('unknown client').waitFor();
  });

  test.concurrent('hostile text is text', async () => {
    const address = newAddress();
    await override(one, 'block', address, { reason: HOSTILE, by: HOSTILE.slice(0, 64) });
    await using opened = await open('overrides');
    const { page, main, complaints } = opened;
    await main.getByText(SHOWN).first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toBe('run');
    await titled(page, 'Overrides');
    expect(complaints).toEqual([]);
    await operate(one, 'POST /v1/clients/unblock', { client: address });
  });

  test.concurrent('asks for the token, refuses a wrong one, and keeps it only where it should', async () => {
    await using guarded = await startOperated(policies, { HEADGATE_ADMIN_TOKEN: TOKEN });
    await using opened = await open('', {}, guarded);
    const { page, headline, urls, complaints } = opened;
    const signIn = async (token: string) => {
      await page.getByLabel('Admin token').fill(token);
      await page.keyboard.press('Enter');
    };
    await headline.getByText('Sign in').waitFor();
    expect(await opened.violations()).toEqual([]);
    await signIn('a-token-that-was-guessed');
    await page.getByText('The gateway refused this token').waitFor();
    await signIn(TOKEN);
    await headline.getByText('All is well').waitFor();
    await page.reload();
    await headline.getByText('Sign in').waitFor();
    await page.getByLabel('Keep for this tab').check();
    await signIn(TOKEN);
    await headline.getByText('All is well').waitFor();
    await page.reload();
    await headline.getByText('All is well').waitFor();
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage)')).toBe('{}');
    await opened.button('Sign out').click();
    await headline.getByText('Sign in').waitFor();
    expect(await page.evaluate('sessionStorage.getItem("headgate-token")')).toBe(null);
    expect(urls.join()).not.toContain(TOKEN);
    expect(complaints).toEqual([]);
  });

  test.concurrent('a page from elsewhere can do nothing', async () => {
    const visitor = { address: newAddress() };
    const client = await denied(visitor);
    const elsewhere = createServer((_, response) => response.end('a foreign page'));
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    await using _closed = { [Symbol.asyncDispose]: async () => void elsewhere.close() };
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const body = JSON.stringify({ client, by: 'a foreign page' });
    for (const type of ['text/plain', 'application/json']) {
      const outcome = await page.evaluate(
        `fetch('${one.opsUrl}/v1/clients/reset', {
          method: 'POST', mode: 'no-cors', headers: { 'content-type': '${type}' },
          body: ${JSON.stringify(body)},
        }).then((answer) => answer.type + ' ' + answer.status, () => 'refused')`,
      );
      expect(outcome).toMatch(/^(opaque 0|refused)$/);
    }
    await page.setContent(`<iframe src="${one.opsUrl}/ui/"></iframe>`);
    expect(page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
    await page.close();
    expect(await status(one, visitor)).toBe(429);
    expect(one.output()).not.toContain('a foreign page');
  });

  test.concurrent('is accessible in light and dark, fits on a telephone, and asks nobody else', async () => {
    await denied({ address: newAddress() });
    await using opened = await open('', { viewport: { width: 360, height: 740 } });
    const { page, headline, urls, complaints } = opened;
    await headline.filter({ hasText: ALL_IS_WELL }).waitFor();
    // Words that are too long for a line.
    const [reason, by] = ['x'.repeat(200), 'y'.repeat(64)];
    const change = { mode: 'shadow', for: '1h', reason, by };
    await operate(one, 'PUT /v1/policies/search/mode', change);
    for (const view of VIEWS) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page.waitForTimeout(150);
      if (view === 'policies') await page.getByText(reason).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBe(360);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await opened.violations(), `${view} ${colorScheme}`).toEqual([]);
      }
    }
    await page.evaluate(`location.hash = '#/denied'`);
    await opened.button('Block…').first().click();
    expect(await opened.violations()).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.locator(':focus').textContent()).toBe('Block…');
    expect(urls.filter((url) => !url.startsWith(`${one.opsUrl}/`))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test.concurrent('says that the gateway is gone, keeps what was known, and goes on when it is back', async () => {
    const HEADGATE_OPS_PORT = String(await freePort());
    const start = () => startOperated(policies, { HEADGATE_OPS_PORT });
    const first = await start();
    await using opened = await open('', {}, first);
    const { page, headline, main, complaints } = opened;
    await headline.getByText('All is well').waitFor();
    await first.stop();
    await headline.getByText(/^This gateway does not answer since [\d:]{8} UTC$/).waitFor();
    await page.getByText(/^What you see is \d+ s old$/).waitFor();
    expect(await main.getAttribute('class')).toBe('stale');
    expect(await main.getByRole('article').count()).toBeGreaterThan(1);
    await using _second = await start();
    await headline.getByText('All is well').waitFor();
    expect(await main.getAttribute('class')).toBe('');
    expect(opened.mostPolls()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test.concurrent('names the product and the machine, and explains its colours and its rates', async () => {
    await using opened = await open();
    const { page, main, headline } = opened;
    await headline.filter({ hasText: ALL_IS_WELL }).waitFor();
    expect(await page.locator('#product').textContent()).toBe(
      `headgate on ${hostname()} ${VERSION}`,
    );
    const legend = main.getByRole('region', { name: 'Legend' });
    const text = String(await legend.textContent());
    expect(text).toMatch(/^Rates are the mean of the last 10 s, until \d\d:\d\d:\d\d\./);
    expect(text).toContain('at least 1 denial/s that is 10 % of the requests or more');
    const colours = await page.evaluate(
      `[...document.querySelectorAll('.swatch')].map((each) => getComputedStyle(each).backgroundColor)`,
    );
    expect(colours).toHaveLength(6);
    // Denied and wrong have one colour; a bar and the edge of a line tell them apart.
    expect(new Set(colours as string[]).size).toBe(5);
  });

  test.concurrent('a client that the file blocks has no buttons: the file says so', async () => {
    await using own = new AsyncDisposableStack();
    const gateway = own.use(await startOperated(policies));
    expect(await visit(gateway, 'POST /pin', { address: BLOCKED_ADDRESS })).toMatchObject({
      status: 403,
    });
    await denied({ address: newAddress() }, gateway);
    await using opened = await open('denied', {}, gateway);
    const row = opened.main.getByRole('row').filter({ hasText: 'blocked by the policy file' });
    await row.waitFor();
    expect(await row.textContent()).toMatch(/blocked by the policy file, .*:\d+/);
    expect(await row.getByRole('button').count()).toBe(0);
    await opened.button('Reset…').first().waitFor();
    expect(await opened.violations()).toEqual([]);
  });

  test.concurrent('finds a denied client among hundreds, by what a customer knows, without a mouse', async () => {
    await using gateway = await startOperated(policies);
    for (let i = 0; i < 130; i++) {
      const address = `198.51.100.${i}`;
      for (let n = 0; n < 4; n++) await visit(gateway, 'POST /pin', { address });
    }
    const address = '192.0.2.77';
    const id = await denied({ address }, gateway);
    await using opened = await open('denied', { viewport: { width: 360, height: 740 } }, gateway);
    const { page, main, urls } = opened;
    await main.getByText('These are the 100 with the most denials.').waitFor();
    const rows = main.locator('tbody tr');
    expect(await rows.filter({ hasText: id }).count()).toBe(0);
    await page.keyboard.press('Tab');
    const filter = main.getByLabel('Filter');
    while ((await page.locator(':focus').getAttribute('type')) !== 'search')
      await page.keyboard.press('Tab');
    await page.keyboard.type(address);
    await rows.filter({ hasText: id }).waitFor();
    await rows.nth(1).waitFor({ state: 'detached' });
    await filter.fill(id.toUpperCase());
    await rows.filter({ hasText: id }).waitFor();
    await filter.fill('203.0.113.200');
    await main
      .getByText('No client that was denied in the last five minutes matches the filter.')
      .waitFor();
    expect(urls.join()).not.toContain(address);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    expect(await opened.violations()).toEqual([]);
  });

  test.concurrent('tells a Redis that is late from one that does not answer', async () => {
    await using own = new AsyncDisposableStack();
    const redis = own.use(await startRedis());
    // A frozen Redis hears no gentler signal.
    own.defer(async () => void redis.signal('SIGCONT'));
    const gateway = own.use(
      await startOperated(policies, {
        HEADGATE_REDIS_URL: redis.url,
        // Shorter than the silence after which the connection is closed.
        HEADGATE_STORE_TIMEOUT_MS: '200',
      }),
    );
    await using opened = await open('', {}, gateway);
    const { headline, page, complaints } = opened;
    const asks = () => visit(gateway, 'POST /local', { address: newAddress() });
    const says = (pattern: RegExp, before: () => Promise<unknown>) =>
      eventually(
        async () => {
          await before();
          return String(await headline.textContent());
        },
        (text) => pattern.test(text),
        WITHIN_MS,
      );
    const late = async () => {
      // The gateway connects again after a freeze. Until then, nothing is counted.
      await eventually(asks, ({ headers }) => headers['x-ratelimit-mode'] === undefined);
      for (let i = 0; i < 20; i++) await asks();
      redis.signal('SIGSTOP');
      await asks();
      redis.signal('SIGCONT');
    };
    await says(
      /^Redis was late for \d+ of \d+ checks in the last 10 s\. Each gateway counted those of local by itself; those of /,
      late,
    );
    expect(await headline.getAttribute('class')).toBe('line warning');
    redis.signal('SIGSTOP');
    await says(
      /^Redis has not answered since \d\d:\d\d UTC\. Each gateway counts local by itself; .* uncounted/,
      asks,
    );
    expect(await headline.getAttribute('class')).toBe('line wrong');
    expect(await page.locator('#status .wrong').count()).toBe(1);
    const { stdout, code } = await runCommand(['stats', '--gateway', gateway.opsUrl]);
    expect(stdout).toMatch(
      /^ +Redis has not answered since \d\d:\d\d UTC\. Each gateway counts local/m,
    );
    expect(stdout).toMatch(/^active windows +unknown$/m);
    expect(code).toBe(1);
    const top = await runCommand(['top', '--once', '--gateway', gateway.opsUrl]);
    expect(top.stdout.split('\n')[0]).toBe(await headline.textContent());
    redis.signal('SIGCONT');
    await says(/^All is well/, asks);
    expect(complaints).toEqual([]);
  });

  test.concurrent('asks rarely while nobody looks', async () => {
    await using opened = await open();
    const { page, headline, urls } = opened;
    await headline.filter({ hasText: ALL_IS_WELL }).waitFor();
    const look = (hidden: boolean) =>
      page.evaluate(`{
        Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }`);
    await look(true);
    const before = urls.length;
    await page.waitForTimeout(4_500);
    expect(urls.length - before).toBeLessThanOrEqual(1);
    await look(false);
    await eventually(
      async () => urls.length,
      (now) => now > before + 1,
    );
  });

  test.concurrent('says that Redis is gone, and that a change was not made', async () => {
    await using own = new AsyncDisposableStack();
    const redis = own.use(await startRedis());
    const gateway = own.use(await startOperated(policies, { HEADGATE_REDIS_URL: redis.url }));
    await using opened = await open('client', {}, gateway);
    const { headline, page } = opened;
    await opened.look('id:acme');
    await opened.button('Block…').waitFor();
    await redis.stop();
    await eventually(
      () =>
        visit(gateway, 'POST /local', { address: newAddress() }).then(() => headline.textContent()),
      (text) =>
        /^Redis has not answered since \d\d:\d\d UTC\. Each gateway counts local by itself; /.test(
          text ?? '',
        ),
      WITHIN_MS,
    );
    await opened.button('Block…').click();
    await opened.confirm('Block', { Reason: 'a flood' });
    await page
      .getByRole('alert')
      .filter({ hasText: /^Not confirmed by Redis: / })
      .waitFor();
    await opened.button('Cancel').click();
    expect(await opened.violations()).toEqual([]);
    own.use(await startRedis(redis.port));
    await headline.getByText('All is well').waitFor();
    expect(opened.complaints).toEqual([]);
  });
});
