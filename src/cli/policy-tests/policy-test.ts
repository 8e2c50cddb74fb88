/** Tests as they are run: everything is looked up, and every moment is known. */
import type { Place } from '../../gateway/config/diagnostic.ts';
import type { Expectation } from './expectation-schema.ts';
import type { RequestLine, WrittenOverride, WrittenSettle } from './step-schema.ts';
import type { TestedPolicies } from './tested-policies.ts';
import type { WrittenMetadata } from './values-schema.ts';

export interface TestFile {
  readonly file: string;
  readonly policies: TestedPolicies;
  readonly setting: Setting;
  readonly tests: readonly PolicyTest[];
}

export interface Setting {
  /** When each test starts, in milliseconds since the epoch. */
  readonly startMs: number;
  readonly proxy: string;
  readonly proxyAddress: string;
  /** Gateways that share the limits. */
  readonly gateways: number;
  readonly clients: ReadonlyMap<string, Client>;
}

export interface Client {
  readonly address: string;
  readonly peer: string;
  readonly apiKey: string | undefined;
  readonly headers: HeaderValues;
  readonly metadata: WrittenMetadata | undefined;
}

/** The values of headers by their name in lower case. */
export type HeaderValues = ReadonlyMap<string, readonly string[]>;

export function headersOf(
  headers: Readonly<Record<string, readonly string[]>>,
  host: string | undefined,
): HeaderValues {
  const all = new Map(Object.entries(headers));
  return host === undefined ? all : all.set('host', [host]);
}

export interface PolicyTest {
  readonly name: string;
  readonly place: Place;
  readonly skip: string | undefined;
  readonly steps: readonly Step[];
}

export type Step = SendStep | SettleStep | ChangeStep;

export interface Moment {
  readonly place: Place;
  /** Milliseconds from the start of the test. */
  readonly atMs: number;
}

export interface SendStep extends Moment {
  readonly kind: 'send';
  readonly line: RequestLine;
  readonly sender: string;
  readonly client: Client;
  /** A header without values is left out, although the client has it. */
  readonly headers: HeaderValues;
  /** In addition to the client's. In place of it for the same namespace, `null` for none. */
  readonly metadata: WrittenMetadata | undefined;
  readonly times: number;
  readonly everyMs: number;
  readonly expect: Expectation;
  /** Each allowed request is settled at once. */
  readonly settle: WrittenSettle | undefined;
}

/** Settles the requests of an earlier step. */
export interface SettleStep extends Moment {
  readonly kind: 'settle';
  readonly of: SendStep;
  readonly settle: WrittenSettle;
}

export type ChangeStep = Moment &
  (
    | { readonly kind: 'store'; readonly isDown: boolean }
    | { readonly kind: 'reload'; readonly policies: TestedPolicies }
    | { readonly kind: 'override'; readonly change: WrittenOverride }
  );
