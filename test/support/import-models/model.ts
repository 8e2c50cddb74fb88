/** Random configurations of other limiters, each with a small model of what the limiter does with a request. */
import type { Random } from '../random.ts';

export interface ModelRequest {
  readonly method: 'GET' | 'POST';
  readonly host: string;
  readonly path: string;
  /** It has the header X-Partner: acme. */
  readonly isPartner: boolean;
}

export interface Model {
  readonly text: string;
  /**
   * The limits, in requests per minute, of each route that may answer. Several routes may answer if the configuration
   * does not say which.
   */
  limitsOf(request: ModelRequest): readonly (readonly number[])[];
  /** What a line of the import must name, if a policy file cannot have the limits of this request. */
  namedFor?(request: ModelRequest): string | undefined;
  /** A policy file can have all conditions of the configuration. */
  readonly isSayable: boolean;
}

const HOSTS = ['a.example.com', 'b.example.com', 'elsewhere.test'];
/** No segment begins with another one, because headgate reads prefixes by whole segments. */
export const PATHS = [
  '/',
  '/shop',
  '/shop/me',
  '/shop/v1',
  '/login',
  '/login/me',
  '/login/me/v2',
  '/api',
  '/api/v1',
  '/api/v1/me',
  '/api/me',
];

export function everyRequest(): ModelRequest[] {
  return HOSTS.flatMap((host) =>
    PATHS.flatMap((path) =>
      (['GET', 'POST'] as const).flatMap((method) =>
        [true, false].map((isPartner) => ({ method, host, path, isPartner })),
      ),
    ),
  );
}

export function isBelow(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);
}

export function isHost(host: string, pattern: string | undefined): boolean {
  if (pattern === undefined || pattern === host) return true;
  return pattern.startsWith('*.') && host.endsWith(pattern.slice(1));
}

/** A value now and then, and nothing otherwise. */
export function maybe<T>(random: Random, chance: number, value: () => T): T | undefined {
  return random.next() < chance ? value() : undefined;
}

/** Those with the highest numbers, the first number first. */
export function highest<T>(all: readonly T[], rankOf: (each: T) => readonly number[]): T[] {
  const compared = (a: T, b: T) => {
    const [left, right] = [rankOf(a), rankOf(b)];
    return right.map((each, i) => each - (left[i] ?? 0)).find((each) => each !== 0) ?? 0;
  };
  const sorted = [...all].sort(compared);
  const [first] = sorted;
  return first === undefined ? [] : sorted.filter((each) => compared(first, each) === 0);
}
