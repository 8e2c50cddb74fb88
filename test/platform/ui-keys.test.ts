/** The Keys view of the page of the ops server, in a browser. */
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Gateway } from '../support/gateway.ts';
import { newAddress, operate, policyFile, startOperated, visit } from '../support/operations.ts';
import { temporaryFile } from '../support/temporary.ts';
import { openOpsPage } from './support/ops-page.ts';

const { chromium: program } = inject('programs');
const POLICIES = `
version: 1
identity: { sources: [api_key, ip], trusted_proxies: [loopback], api_key: { keys: redis } }
default: { limits: [2/1h], plans: { pro: [9/1h] } }
`;

describe.skipIf(program === undefined)('the Keys view', () => {
  const started = new AsyncDisposableStack();
  let gateway: Gateway;
  let browser: Browser;

  beforeAll(async () => {
    gateway = started.use(await startOperated(temporaryFile(started, POLICIES)));
    const args = ['--disable-dev-shm-usage', '--disable-gpu'];
    browser = await chromium.launch({ executablePath: program ?? '', args });
    started.defer(() => browser.close());
  });
  afterAll(() => started.disposeAsync());

  const statusOf = async (key: string) =>
    (await visit(gateway, '/', { key, address: newAddress() })).status;

  test('adds a key and shows it once; changes its plan, blocks and revokes it', async () => {
    await using opened = await openOpsPage(browser, gateway, { hash: '#/keys' });
    const { page, main, notices, complaints, urls } = opened;
    await main.getByText('The store has no key.').waitFor();
    await opened.button('Add a key…').click();
    expect(await opened.violations()).toEqual([]);
    await opened.confirm('Add', {
      'Id of the client': 'acme',
      'Plan (may be empty)': 'pro',
      'Your name': 'alice',
    });
    await notices.getByText('id:acme: key added.').waitFor();
    const shown = main.getByRole('region', { name: 'The new key' });
    const key = String(await shown.locator('code').textContent());
    expect(key).toMatch(/^hg_[\w-]{43}$/);
    expect(await notices.textContent()).not.toContain(key);
    expect(await statusOf(key)).toBe(200);
    expect(await opened.violations()).toEqual([]);
    await opened.button('Hide').click();
    expect(await page.content()).not.toContain(key);

    const row = main.getByRole('row').filter({ hasText: 'acme' });
    await row.getByText('pro').waitFor();
    await row.getByRole('button', { name: 'Plan…' }).click();
    await opened.confirm('Change plan', { 'Plan (empty for none)': 'prop' });
    await notices.getByText('no policy has the plan "prop", did you mean "pro"?').waitFor();
    await row.getByRole('button', { name: 'Block…' }).click();
    await opened.confirm('Block');
    await row.getByText('blocked').waitFor();
    expect(await statusOf(key)).toBe(403);
    await row.getByRole('button', { name: 'Unblock…' }).click();
    await opened.confirm('Unblock');
    await row.getByText('valid').waitFor();
    await row.getByRole('button', { name: 'Revoke…' }).click();
    await opened.confirm('Revoke');
    await main.getByText('The store has no key.').waitFor();
    expect(gateway.output()).not.toContain(key);
    expect(urls.join()).not.toContain(key);
    expect(complaints).toEqual([]);
  });

  test('shows pages, and fits on a telephone', async () => {
    const keys = Array.from({ length: 60 }, (_, i) => ({
      id: `customer-${100 + i}`,
      sha256: String(i).padStart(64, '0'),
      comment: 'x'.repeat(200),
    }));
    await operate(gateway, 'POST /v1/keys/import', { keys });
    const viewport = { width: 360, height: 740 };
    await using opened = await openOpsPage(browser, gateway, { hash: '#/keys', viewport });
    const { page, main, complaints } = opened;
    await main.getByText('customer-100').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await opened.violations(), colorScheme).toEqual([]);
    }
    await opened.button('Next page').click();
    await main.getByText('customer-159').waitFor();
    await opened.button('First page').click();
    await main.getByText('customer-100').waitFor();
    expect(complaints).toEqual([]);
  });

  test('names the line that a policy file without such keys needs', async () => {
    await using other = await startOperated(policyFile(started));
    await using opened = await openOpsPage(browser, other, { hash: '#/keys' });
    await opened.main.getByText('write "keys: redis" under identity.api_key').waitFor();
  });
});
