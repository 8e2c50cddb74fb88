/** The page of the ops server in a browser, as an operator sees it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { Gateway } from '../../support/gateway.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const VIOLATIONS = `axe.run().then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`;
/** Chromium says this of every status from 400 on, and of a gateway that is gone. */
const FAILED_CALL = /^Failed to load resource: (the server responded|net::ERR_)/;

export interface OpsPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the page, and what its Content-Security-Policy kept it from. */
  readonly complaints: string[];
  /** Every URL that the page asked for. */
  readonly urls: string[];
  /** How many overviews it asked for at the same time, at most. */
  readonly mostPolls: () => number;
  /** The first line, which says in words how things are. */
  readonly headline: Locator;
  readonly main: Locator;
  /** What was done. */
  readonly notices: Locator;
  button(name: string | RegExp): Locator;
  /** Fills in the dialog, and confirms. */
  confirm(verb: string, fields?: Readonly<Record<string, string>>): Promise<void>;
  look(client: string): Promise<void>;
  violations(): Promise<string[]>;
}

export async function openOpsPage(
  browser: Browser,
  { opsUrl }: Pick<Gateway, 'opsUrl'>,
  { hash = '#/', ...options }: BrowserContextOptions & { readonly hash?: string } = {},
): Promise<OpsPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  const urls: string[] = [];
  let polls = 0;
  let mostPolls = 0;
  const isPoll = (url: string) => url.endsWith('/v1/overview');
  page.on('console', (message) => {
    if (!FAILED_CALL.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    urls.push(request.url());
    if (isPoll(request.url())) mostPolls = Math.max(mostPolls, ++polls);
  });
  for (const event of ['requestfinished', 'requestfailed'] as const) {
    page.on(event as 'requestfinished', (request) => {
      if (isPoll(request.url())) polls--;
    });
  }
  await page.goto(`${opsUrl}/ui/${hash}`);
  const dialog = page.getByRole('dialog');
  return {
    ...{ page, complaints, urls, mostPolls: () => mostPolls },
    headline: page.getByRole('heading', { level: 1 }),
    main: page.getByRole('main'),
    notices: page.locator('.notices'),
    button: (name) => page.getByRole('button', { name }),
    async confirm(verb, fields = {}) {
      for (const [label, text] of Object.entries(fields)) {
        const choices = dialog.getByRole('combobox', { name: label });
        if ((await choices.count()) > 0) await choices.selectOption(text);
        else await dialog.getByRole('textbox', { name: label }).fill(text);
      }
      await dialog.getByRole('button', { name: verb }).click();
    },
    async look(client) {
      await page.getByLabel('Decision id, address').fill(client);
      await page.keyboard.press('Enter');
    },
    violations: () => page.evaluate(`${AXE}; ${VIOLATIONS}`),
    [Symbol.asyncDispose]: () => context.close(),
  };
}
