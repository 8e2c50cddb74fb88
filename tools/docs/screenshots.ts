/**
 * Makes the screenshots of docs/operating.md: `node tools/docs/screenshots.ts`. A gateway decides 15 minutes of made-up
 * requests in about 15 seconds, by a clock that is set ahead step by step. Needs Chromium; CHROMIUM names its program.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { createGateway } from '../../src/gateway/app/gateway.ts';
import { OpenResources } from '../../src/gateway/app/open-resources.ts';
import { openPolicySource } from '../../src/gateway/config/policy-file/policy-source.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { VERSION } from '../../src/gateway/config/shipped-files.ts';
import { STEP_MS, STEPS } from '../../src/gateway/telemetry/decisions/traffic-history.ts';
import { createTelemetry } from '../../src/gateway/telemetry/telemetry.ts';
import { call } from '../../test/support/http.ts';
import { smallPng } from './small-png.ts';

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const MOST_BYTES = 60_000;
const KEYS = { acme: 'pro', globex: 'pro', initech: 'free' };
const keyOf = (id: string) => `the-key-of-${id}`;

const POLICIES = `
version: 1
identity:
  sources: [api_key, ip]
  api_key:
    header: x-api-key
    keys:
${Object.entries(KEYS)
  .map(([id, plan]) => `      - { id: ${id}, plan: ${plan}, sha256: ${hash('sha256', keyOf(id))} }`)
  .join('\n')}
  trusted_proxies: [loopback]
default: { limits: [1000/1h] }
policies:
  - name: login
    match: { method: POST, path: /api/auth/login }
    limits: [5/5min, { rate: 50/5min, per: ip }]
    on_store_failure: local
  - name: upload
    match: { method: POST, path: /api/upload }
    limits: [10/1h]
    plans: { pro: [100/1h] }
    mode: shadow
  - name: search
    match: { method: GET, path: /api/search }
    limits: [60/1min]
    plans: { free: [30/1min], pro: [300/1min] }
`;

await using cleanUp = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'headgate-screenshots-'));
cleanUp.defer(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'policies.yaml'), POLICIES);

let nowMs = Date.now() - STEPS * STEP_MS;
const now = () => nowMs;
const environment = readEnvironment({
  ...{ HEADGATE_PORT: '0', HEADGATE_OPS_PORT: '0', HEADGATE_GRPC_PORT: 'off' },
  ...{ HEADGATE_DRAIN_MS: '0', HEADGATE_POLICIES: join(folder, 'policies.yaml') },
});
const destination = { write: () => {} };
const telemetry = createTelemetry({ level: 'info', version: VERSION, now, destination });
const resources = new OpenResources();
const gateway = await createGateway({
  ...{ environment, telemetry, now, resources },
  policies: openPolicySource(environment),
});
cleanUp.defer(() => resources.close());
const { check, ops } = await gateway.listen();
const urlOf = (address: typeof ops | string) =>
  `http://127.0.0.1:${typeof address === 'object' ? address.port : 0}`;

for (let step = 0; step < STEPS; step++) {
  await Promise.all(
    requestsOf(step).map(({ target, ...request }) => call(urlOf(check), target, request)),
  );
  if (step === STEPS - 40) {
    await change('block', { client: '203.0.113.76', for: '2h', reason: 'credential stuffing' });
    await change('reset', { client: 'id:initech', reason: 'ticket 4711' });
  }
  nowMs += STEP_MS;
  telemetry.traffic.sample(nowMs);
}

const args = ['--disable-dev-shm-usage', '--disable-gpu', '--disable-lcd-text'];
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args });
cleanUp.defer(() => browser.close());
const page = await browser.newPage({
  ...{ viewport: { width: 1_040, height: 620 }, colorScheme: 'light' },
  reducedMotion: 'reduce',
});

await page.goto(`${urlOf(ops)}/ui/`);
await page.getByRole('heading', { name: 'denied' }).waitFor();
await save(page, 'overview');
await page.getByRole('link', { name: 'Denied now' }).click();
await page.getByRole('link', { name: /-\d+$/ }).first().waitFor();
await save(page, 'denied');
await page
  .getByRole('row')
  .filter({ hasText: /^i.*login/ })
  .getByRole('link')
  .first()
  .click();
await page.getByRole('heading', { name: 'Limits' }).waitFor();
await save(page, 'client');

/** People who search, upload and sign in, and from some time on a few addresses that guess passwords. */
function requestsOf(step: number) {
  const requests = [];
  const swing = 1 + Math.sin(step / 17) / 4 + noise(step) / 3;
  for (let i = 0; i < 60 * swing; i++) {
    const key = noise(step * 61 + i) < 0.3 ? keyOf(Object.keys(KEYS)[i % 3] ?? '') : undefined;
    requests.push(request('GET', '/api/search', `198.51.100.${i % 90}`, key));
  }
  for (let i = 0; i < 3 * swing; i++)
    requests.push(request('POST', '/api/upload', `198.51.100.${Math.floor(noise(step + i) * 60)}`));
  for (let i = 0; i < 6 * swing; i++)
    requests.push(request('POST', '/api/auth/login', `198.51.${step % 250}.${i}`));
  for (let i = 0; step > 120 && i < 9; i++)
    for (let n = 0; n <= i / 2; n++)
      requests.push(request('POST', '/api/auth/login', `203.0.113.${70 + i}`));
  for (let i = 0; i < 12 * swing; i++) requests.push(request('GET', '/', `198.51.100.${i}`));
  return requests;
}

function request(method: string, path: string, address: string, key?: string) {
  return {
    ...{ method, target: `/envoy${path}` },
    headers: {
      'x-headgate-client-ip': address,
      ...(key !== undefined && { 'x-api-key': key }),
    },
  };
}

/** From 0 to 1, and the same at every run. */
function noise(seed: number): number {
  return Math.abs(Math.sin(seed * 12.9898) * 43_758.5453) % 1;
}

async function change(verb: string, body: object): Promise<void> {
  const { status, body: answer } = await call(urlOf(ops), `/v1/clients/${verb}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, by: 'alice' }),
  });
  if (status !== 200) throw new Error(answer);
}

async function save(shown: Page, name: string): Promise<void> {
  const image = smallPng(await shown.screenshot({ fullPage: true }));
  if (image.length > MOST_BYTES) throw new Error(`${name}.png has ${image.length} bytes`);
  writeFileSync(join(IMAGES, `ui-${name}.png`), image);
}
