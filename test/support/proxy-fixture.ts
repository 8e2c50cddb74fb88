/** What a real proxy sends with a check, and what it needs back. test/fixtures/proxies has one file for each proxy. */
import type { CheckRequest } from '../../src/gateway/core/check-request.ts';
import type { Dialect } from '../../src/gateway/core/dialect.ts';

export interface ProxyFixture {
  /** The program and the files that this was captured from. Addresses were changed afterwards, so that each differs. */
  readonly capturedFrom: string;
  /** The check of a login: a request line and header lines. */
  readonly sends: string;
  readonly means: ExpectedCheck;
  /** Headers without which the request is not understood. */
  readonly required: readonly string[];
  /** Headers that may be absent, and the part of the check that is then undefined. */
  readonly optional: Readonly<Record<string, 'peer' | 'client' | 'requestId'>>;
  /** Of these headers, several lines are one list. */
  readonly lists?: readonly string[];
  readonly needs: ExpectedAnswers;
}

interface ExpectedCheck {
  readonly method: string;
  readonly host: string;
  readonly target: string;
  readonly peer: string | undefined;
  readonly client: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly requestId: string | undefined;
  /** The headers that addresses come from: a warning about an ignored address names one of them. */
  readonly addressHeaders: readonly string[];
  /** A header of the client that the proxy passes on. */
  readonly apiKey: string;
}

/** Statuses. */
interface ExpectedAnswers {
  readonly denied: 429 | 403;
  readonly badRequest: 400 | 403;
  /** Headers of a denial that other proxies do not get, by the status and body that a client must see. */
  readonly onDenial?: (status: number, body: string) => Readonly<Record<string, string>>;
  /** Headers that other proxies get with an allow and this one does not. */
  readonly notOnAllow?: readonly string[];
}

/** The address of the proxy itself: the gateway's end of the connection. */
export const PROXY_ADDRESS = '192.0.2.80';

/** How the header lines of a fixture are changed. Names are as in the fixture. */
export interface HeaderChange {
  readonly remove?: string;
  /** Sent once more, with the same value. */
  readonly repeat?: string;
  readonly empty?: string;
  /** Sent in addition: name, value. */
  readonly add?: readonly (readonly [string, string])[];
}

type HeaderLine = readonly [name: string, value: string];

export function headerLines({ sends }: Pick<ProxyFixture, 'sends'>): HeaderLine[] {
  return lines(sends)
    .slice(1)
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
}

function lines(sends: string): string[] {
  return sends.trim().split('\n');
}

/** How a proxy sends the check of another request: only what carries its method and target. */
export function lineOf(fixture: ProxyFixture, method: string, target: string) {
  const { means } = fixture;
  const changed = (text: string) =>
    text === means.method ? method : text.replace(means.target, target);
  const [ownMethod = '', path = ''] = lines(fixture.sends)[0]?.split(' ') ?? [];
  const headers = headerLines(fixture).filter(([, value]) => changed(value) !== value);
  return {
    method: path.includes(means.target) ? method : ownMethod,
    path: changed(path),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, changed(value)])),
  };
}

function changedLines(
  before: readonly HeaderLine[],
  { remove, repeat, empty, add = [] }: HeaderChange,
): HeaderLine[] {
  const isKnown = (name: string) => before.some(([each]) => each === name);
  for (const name of [remove, repeat, empty]) {
    if (name !== undefined && !isKnown(name)) throw new Error(`the fixture has no ${name}`);
  }
  return [
    ...before
      .filter(([name]) => name !== remove)
      .map(([name, value]): HeaderLine => [name, name === empty ? '' : value]),
    ...before.filter(([name]) => name === repeat),
    ...add,
  ];
}

/** As Node has them with `joinDuplicateHeaders`. */
function joinedHeaders(headers: readonly HeaderLine[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    fields[key] = fields[key] === undefined ? value : `${fields[key]}, ${value}`;
  }
  return fields;
}

/** Parses the fixture's request, as the check server hands it to the dialect. */
export function parseFixture(
  dialect: Dialect,
  fixture: ProxyFixture,
  change: HeaderChange & { readonly target?: string } = {},
): CheckRequest {
  const [method = '', target = ''] = lines(fixture.sends)[0]?.split(' ') ?? [];
  if (!target.startsWith(dialect.mount)) throw new Error(`${target} is not for ${dialect.name}`);
  return dialect.parse({
    method,
    target: target.slice(dialect.mount.length) + (change.target ?? ''),
    headers: joinedHeaders(changedLines(headerLines(fixture), change)),
    remoteAddress: PROXY_ADDRESS,
  });
}
