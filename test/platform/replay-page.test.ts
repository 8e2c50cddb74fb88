/** The page of a replay in a browser: opened as a file, without a network, as a reader opens it. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { replayPage } from '../../src/cli/evidence/page/replay-page.ts';
import { type ReplaySample, sampleReplay } from '../support/replay-sample.ts';

const { chromium: program } = inject('programs');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const VIOLATIONS = `axe.run().then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`;
const HOSTILE = `"><img src=x onerror="document.title='run'"></script><script>document.title='run'</script>\u202e\u2028`;
const ESCAPED = HOSTILE.replace('\u202e\u2028', '\\u{202e}\\u{2028}');
const POLICIES = ['login', 'search', HOSTILE];

describe.skipIf(program === undefined)('the page of a replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-page-'));
  const sample = hostile(
    sampleReplay({
      policies: POLICIES,
      minutes: 1_440,
      clientName: (number) => `${HOSTILE}${number}`,
      hasDifference: true,
    }),
  );
  const url = pathToFileURL(join(folder, 'replay.html')).href;
  let browser: Browser;

  beforeAll(async () => {
    writeFileSync(join(folder, 'replay.html'), replayPage(sample.report, sample.charts));
    const args = ['--disable-dev-shm-usage', '--disable-gpu'];
    browser = await chromium.launch({ executablePath: program ?? '', args });
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  interface Opened extends AsyncDisposable {
    readonly page: Page;
    /** What the browser complained about, and what the page asked the network for. */
    readonly complaints: string[];
  }

  async function open(options: BrowserContextOptions = {}, file = url): Promise<Opened> {
    const context = await browser.newContext({ offline: true, ...options });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (request.url() !== file) complaints.push(request.url());
    });
    await page.goto(file);
    return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
  }

  test('asks for nothing, breaks no rule, and is accessible in light and dark', async () => {
    await using opened = await open();
    const { page, complaints } = opened;
    const plots = await picturesOf(page);
    expect(plots).toHaveLength(5);
    await page.evaluate(`{
      for (const folded of document.querySelectorAll('details')) folded.open = true;
      // Rows are alike, and axe takes long for many of them.
      for (const row of document.querySelectorAll('tr:nth-child(n + 5)')) row.remove();
    }`);
    expect(complaints).toEqual([]);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const violations = await page.evaluate(`${AXE}; ${VIOLATIONS}`);
      expect(violations, colorScheme).toEqual([]);
    }
    const dark = await picturesOf(page);
    expect(dark.filter((picture, i) => picture === plots[i])).toEqual([]);
  });

  test('shows hostile names as text', async () => {
    await using opened = await open();
    const { page, complaints } = opened;
    expect(await page.title()).toMatch(/^Replay: [\d,]+ of [\d,]+ requests denied$/);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(3);
    const texts = await page.locator('bdi').allTextContents();
    for (const text of [ESCAPED, `${ESCAPED}1`]) expect(texts).toContain(text);
    expect(await page.locator('li').allTextContents()).toContain(ESCAPED);
    expect(await page.locator('code').allTextContents()).toContain(ESCAPED);
    expect(complaints).toEqual([]);
  });

  const shown = (page: Page) => page.locator('#shown').textContent();
  const WHOLE = '2026-01-05 06:00 to 2026-01-06 06:00';

  test('a drag over a plot zooms all plots, a double click shows all', async () => {
    await using opened = await open();
    const { page } = opened;
    expect(await shown(page)).toBe(WHOLE);
    const plot = page.locator('.plot .u-over').first();
    await plot.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await plot.boundingBox()) ?? expect.unreachable();
    const before = await picturesOf(page);
    await page.mouse.move(x + width / 4, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
    await page.mouse.up();
    // A pixel is about a minute and a half.
    expect(await shown(page)).toMatch(/^2026-01-05 (11:5\d|12:0\d) to 2026-01-05 (17:5\d|18:0\d)$/);
    const after = await picturesOf(page);
    expect(after.filter((picture, i) => picture === before[i])).toEqual([]);
    await page.mouse.dblclick(x + width / 2, y + height / 2);
    expect(await shown(page)).toBe(WHOLE);
  });

  test('buttons zoom by keyboard', async () => {
    await using opened = await open();
    const { page } = opened;
    await page.getByRole('button', { name: 'Zoom in' }).focus();
    await page.keyboard.press('Enter');
    expect(await shown(page)).toBe('2026-01-05 12:00 to 2026-01-06 00:00');
    await page.getByRole('button', { name: 'Earlier' }).press('Enter');
    await page.getByRole('button', { name: 'Earlier' }).press('Enter');
    expect(await shown(page)).toBe('2026-01-05 06:00 to 2026-01-05 18:00');
    await page.getByRole('button', { name: 'Later' }).press('Enter');
    expect(await shown(page)).toBe('2026-01-05 12:00 to 2026-01-06 00:00');
    await page.getByRole('button', { name: 'Show all' }).press('Enter');
    expect(await shown(page)).toBe(WHOLE);
  });

  test('plots have the same times in every time zone', async () => {
    await using here = await open({ timezoneId: 'UTC' });
    await using there = await open({ timezoneId: 'Asia/Kolkata' });
    expect(await picturesOf(there.page)).toEqual(await picturesOf(here.page));
  });

  test('the numbers under the pointer are those of the log', async () => {
    await using opened = await open();
    const { page } = opened;
    const plot = page.locator('.plot .u-over').first();
    await plot.hover();
    const reading = (await page.locator('.reading').first().textContent()) ?? '';
    const [, time = '', requests = ''] = /^(.{16}): ([\d,]+)$/.exec(reading) ?? [];
    const atMs = Date.parse(`${time.replace(' ', 'T')}Z`);
    const minute = sample.charts.policies[0]?.minutes.find(([ms]) => ms === atMs);
    expect(minute?.[1].toLocaleString('en-US')).toBe(requests);
  });

  test('the tables have the numbers, also without JavaScript', async () => {
    await using opened = await open({ javaScriptEnabled: false });
    const { page, complaints } = opened;
    const tables = page.locator('#time table');
    for (const [i, { requests, denied_requests: denied }] of sample.report.policies.entries()) {
      const rows = await tables.nth(i).locator('tbody tr').allTextContents();
      expect(rows.length).toBeGreaterThan(10);
      const sum = async (column: number) => {
        const cells = await tables
          .nth(i)
          .locator(`tbody td:nth-child(${column})`)
          .allTextContents();
        return cells.reduce((total, cell) => total + Number(cell.replaceAll(',', '')), 0);
      };
      expect([await sum(2), await sum(3)]).toEqual([requests, denied]);
    }
    expect(await page.locator('.toolbar').isVisible()).toBe(false);
    expect(await page.locator('svg[role=img]').count()).toBe(3);
    expect(complaints).toEqual([]);
  });

  test('a log of one minute has plots', async () => {
    const short = sampleReplay({ policies: ['login'], minutes: 1 });
    writeFileSync(join(folder, 'short.html'), replayPage(short.report, short.charts));
    await using opened = await open({}, pathToFileURL(join(folder, 'short.html')).href);
    const { page, complaints } = opened;
    const minute = '2026-01-05 06:00 to 2026-01-05 06:01';
    expect(await shown(page)).toBe(minute);
    await page.getByRole('button', { name: 'Zoom in' }).click();
    expect(await shown(page)).toBe(minute);
    expect(complaints).toEqual([]);
  });

  test('fits on a telephone', async () => {
    await using opened = await open({ viewport: { width: 360, height: 640 } });
    expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });
});

/** Hashes of the pictures of all plots. */
async function picturesOf(page: Page): Promise<string[]> {
  const pictures: string[] = await page.evaluate(
    `[...document.querySelectorAll('.plot canvas')].map((canvas) => canvas.toDataURL())`,
  );
  return pictures.map((picture) => createHash('sha256').update(picture).digest('hex'));
}

/** With hostile text in every other field. */
function hostile({ report, charts }: ReplaySample): ReplaySample {
  const { log, lines, requests } = report;
  const misread = { source: HOSTILE, line: 1, field: HOSTILE, text: HOSTILE };
  return {
    charts,
    report: {
      ...report,
      log: { ...log, sources: [HOSTILE], format: HOSTILE },
      lines: { ...lines, first_not_understood: [misread] },
      requests: { ...requests, reasons: { [HOSTILE]: 1 } },
      notes: [HOSTILE],
    },
  };
}
