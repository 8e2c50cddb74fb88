/** What the page of the ops server says and does, without a browser: its modules describe elements, see web/ui/dom.js. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

interface Description {
  readonly tag: string;
  // biome-ignore lint/suspicious/noExplicitAny: listeners and texts
  readonly attributes: Record<string, any>;
  readonly children: readonly unknown[];
}

const DOM = '../../../../web/ui/dom.js';
const NOW = Date.UTC(2026, 10, 21, 12);
const at = (ms: number) => new Date(NOW + ms).toISOString();

/** As browsers load it: each test has a module of its own. */
// biome-ignore lint/suspicious/noExplicitAny: the modules are JavaScript
const load = (name: string): Promise<any> => import(`../../../../web/ui/${name}.js`);

function elements(child: unknown): Description[] {
  if (Array.isArray(child)) return child.flatMap(elements);
  if (typeof child !== 'object' || child === null) return [];
  const description = child as Description;
  return [description, ...elements(description.children)];
}

function text(child: unknown): string {
  if (Array.isArray(child)) return child.map(text).join('');
  if (typeof child === 'object' && child !== null) return text((child as Description).children);
  return child === false || child === null || child === undefined ? '' : String(child);
}

const tagged = (child: unknown, tag: string) => elements(child).filter((each) => each.tag === tag);
const rowsOf = (child: unknown) =>
  tagged(tagged(child, 'tbody'), 'tr').map((row) => row.children.map(text));

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers({ now: NOW });
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.doUnmock(DOM);
});

describe('times', () => {
  test.each([-90_000, 0, 90_000])('are by the clock of the gateway, %i ms ahead', async (ahead) => {
    const { now, relativeText, setClock, timeText } = await load('text');
    setClock(at(ahead));
    vi.setSystemTime(NOW + 10_000);
    expect(now()).toBe(NOW + 10_000 + ahead);
    expect(relativeText(at(ahead + 10_000))).toBe('now');
    expect(relativeText(at(ahead + 10_000 - 300_000))).toBe('5 min ago');
    expect(relativeText(at(ahead + 10_000 + 300_000))).toBe('in 5 min');
    expect(timeText(at(0))).toBe('12:00:00');
  });

  test('of another day have the day', async () => {
    const { setClock, timeText } = await load('text');
    expect(timeText(at(-86_400_000))).toBe('2026-11-20 12:00');
    setClock(at(-86_400_000));
    expect(timeText(at(-86_400_000))).toBe('12:00:00');
    expect(timeText(at(0))).toBe('2026-11-21 12:00');
  });
});

describe('the minutes of a policy', () => {
  const STEP_MS = 10_000;
  async function minutes(requests: readonly number[]) {
    const { minuteTable } = await load('chart');
    const series = { requests, denials: requests.map(() => 1), would_deny: requests.map(() => 0) };
    return rowsOf(minuteTable('login', series, { step_ms: STEP_MS, until: at(0) }));
  }

  test('each have the time at which they begin, the latest first', async () => {
    expect(await minutes([...Array(6).fill(1), ...Array(6).fill(2), ...Array(6).fill(3)])).toEqual([
      ['11:59', '18', '6', '0'],
      ['11:58', '12', '6', '0'],
      ['11:57', '6', '6', '0'],
    ]);
  });

  test('of which the oldest is not whole begin with its first step', async () => {
    expect(await minutes([5, 5, 5, ...Array(6).fill(1)])).toEqual([
      ['11:59', '6', '6', '0'],
      ['11:58', '15', '3', '0'],
    ]);
    expect(await minutes([])).toEqual([]);
  });
});

test('an action is marked only if it was not confirmed', async () => {
  const { actionTable } = await load('actions');
  const action = { at: at(0), action: 'block', by: 'ada', subject: undefined, reason: undefined };
  const changes = rowsOf(
    actionTable([
      { ...action, change: 'blocked', is_confirmed: true },
      { ...action, change: 'exempt', is_confirmed: false },
    ]),
  ).map(([, , , change]) => change);
  expect(changes).toEqual(['blocked', 'exempt not confirmed']);
});

describe('the list of denied clients', () => {
  const page = { redraw() {}, refresh() {}, ask() {}, overview: { policies: [] }, parameter: '' };
  const listOf = (client: string, gateways = { asked: 1, answered: 1 }) => ({
    clients: [
      {
        ...{ client, policy: 'login', reason: 'over_limit', denials: 3, decision_id: 'd' },
        ...{ since: at(-60_000), last: at(0), until: at(60_000), limit: 'login' },
      },
    ],
    gateways,
  });

  /** `answer` answers the call of this number, from 0. */
  async function setUp() {
    const calls: { body: { shadow: boolean; filter: string }; resolve: (list: object) => void }[] =
      [];
    vi.stubGlobal('fetch', (_url: URL, { body }: { body: string }) => {
      const { promise, resolve } = Promise.withResolvers<object>();
      calls.push({ body: JSON.parse(body), resolve });
      return promise.then((list) => ({ status: 200, text: async () => JSON.stringify(list) }));
    });
    const { deniedView } = await load('denied');
    const shown = () => text(deniedView.show(page));
    const isShadow = (checked: boolean) => {
      const box = tagged(deniedView.show(page), 'input').find(
        ({ attributes }) => attributes.type === 'checkbox',
      );
      box?.attributes.onchange({ target: { checked } });
    };
    return { calls, deniedView, isShadow, shown };
  }

  test('is that of the mode that was chosen last, in whichever order the answers come', async () => {
    const { calls, deniedView, isShadow, shown } = await setUp();
    const first = deniedView.load();
    isShadow(true);
    expect(shown()).toContain('Waiting for the gateway.');
    const second = deniedView.load();
    expect(calls.map(({ body }) => body.shadow)).toEqual([false, true]);
    calls[0]?.resolve(listOf('i.denied'));
    await first;
    expect(shown()).not.toContain('i.denied');
    calls[1]?.resolve(listOf('i.would-be'));
    await second;
    expect(shown()).toContain('i.would-be');
    const late = deniedView.load();
    isShadow(false);
    const last = deniedView.load();
    calls[3]?.resolve(listOf('i.denied'));
    await last;
    calls[2]?.resolve(listOf('i.would-be'));
    await late;
    expect(shown()).toContain('i.denied');
    expect(shown()).not.toContain('i.would-be');
  });

  test('says how many gateways did not answer, and nothing if all did', async () => {
    const { calls, deniedView, shown } = await setUp();
    const first = deniedView.load();
    calls[0]?.resolve(listOf('i.a', { asked: 3, answered: 1 }));
    await first;
    expect(shown()).toContain('2 of 3 gateways did not answer.');
    const second = deniedView.load();
    calls[1]?.resolve(listOf('i.a'));
    await second;
    expect(shown()).not.toContain('did not answer');
  });
});

describe('the dialog of a change', () => {
  class Form {
    readonly fields: Readonly<Record<string, string>>;
    constructor(fields: Readonly<Record<string, string>> = {}) {
      this.fields = fields;
    }
  }

  async function setUp() {
    let drawn: unknown;
    vi.doMock(DOM, async (original) => ({
      ...(await original<object>()),
      render: (_root: unknown, ...children: unknown[]) => {
        drawn = children;
      },
    }));
    const dialog = { isOpen: false, onclose() {}, showModal() {}, close() {} };
    dialog.showModal = () => {
      dialog.isOpen = true;
    };
    dialog.close = () => {
      dialog.isOpen = false;
      dialog.onclose();
    };
    vi.stubGlobal('document', { querySelector: () => dialog });
    vi.stubGlobal('HTMLFormElement', Form);
    vi.stubGlobal(
      'FormData',
      class {
        readonly get: (name: string) => string | null;
        constructor({ fields }: Form) {
          this.get = (name) => fields[name] ?? null;
        }
      },
    );
    const { CallError } = await load('api');
    const { askChange } = await load('dialog');
    const made: { terms: object; resolve: (done: string) => void; reject: (e: Error) => void }[] =
      [];
    const outcomes: string[] = [];
    const change = {
      ...{ title: 'Block i.a', effect: 'It is denied.', verb: 'Block' },
      make: (terms: object) =>
        new Promise<string>((resolve, reject) => made.push({ terms, resolve, reject })),
    };
    askChange(change, (outcome: string) => outcomes.push(outcome));
    const submit = (fields = {}): Promise<void> =>
      tagged(drawn, 'form')[0]?.attributes.onsubmit({
        preventDefault() {},
        target: new Form(fields),
      });
    const fail = (code: string) => made.at(-1)?.reject(new CallError(code, 'no answer.'));
    return { dialog, fail, made, outcomes, shown: () => text(drawn), submit };
  }

  test('makes the change once, however often it is confirmed', async () => {
    const { dialog, made, outcomes, shown, submit } = await setUp();
    const first = submit({ by: ' ada ', reason: 'a test' });
    const second = submit();
    expect(made.map(({ terms }) => terms)).toEqual([
      { mode: '', policy: '', for: '', reason: 'a test', by: 'ada' },
    ]);
    expect(shown()).toContain('Waiting for the gateway');
    made[0]?.resolve('Blocked.');
    await Promise.all([first, second]);
    expect(outcomes).toEqual(['Blocked.']);
    expect(dialog.isOpen).toBe(false);
  });

  test.each([
    [
      'gone',
      'Not confirmed: the gateway did not answer, so the change may or may not have been made: no answer.',
    ],
    ['store_unavailable', 'Not confirmed by Redis: no answer.'],
    ['not_found', 'Not done: no answer.'],
  ])(
    'says of a failure (%s) whether the change was made, and can try again',
    async (code, said) => {
      const { dialog, fail, made, outcomes, shown, submit } = await setUp();
      const first = submit();
      fail(code);
      await first;
      expect(shown()).toContain(said);
      expect(shown()).toContain('Try again');
      expect([dialog.isOpen, outcomes]).toEqual([true, []]);
      void submit();
      expect(made).toHaveLength(2);
    },
  );

  test('that is closed meanwhile tells the page of the failure', async () => {
    const { dialog, fail, outcomes, submit } = await setUp();
    const first = submit();
    dialog.close();
    fail('gone');
    await first;
    expect(outcomes).toEqual([expect.stringMatching(/^Block i\.a: Not confirmed: the gateway/)]);
  });
});
