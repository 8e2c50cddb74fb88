import {
  chargesAfterwards,
  countedHeadersOf,
  type IdentitySection,
  mcpHeadersOf,
  reserveHeadersOf,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { headersOf, namespacesOf } from '../../../gateway/core/identity/vouched.ts';
import { ORIGIN, REQUESTED_METHOD } from '../../../gateway/core/preflight.ts';

export type ClientHeaders = ReturnType<typeof clientHeadersOf>;

type Readings = Pick<ValidFile, 'identity' | 'fallback' | 'entries'>;

export function clientHeadersOf({ identity, fallback, entries }: Readings) {
  const { sources, api_key, verified_headers, forwarded_header } = identity;
  const perHeader = countedHeadersOf([fallback, ...entries]);
  const ofCalls = mcpHeadersOf(entries);
  /** The gateway trusts these, so the proxy must set them itself and must not pass on the client's. */
  const owned = new Set([
    ...headersOf(vouchedIn(identity)),
    ...[...perHeader, ...ofCalls].filter((name) => verified_headers.includes(name)),
    ...reserveHeadersOf([fallback, ...entries]),
  ]);
  const named = new Set([
    ...(sources.includes('api_key') ? [api_key.header] : []),
    ...sources.flatMap((source) => {
      if (typeof source === 'object') return [source.header];
      return source === 'cf_connecting_ip' ? ['cf-connecting-ip'] : [];
    }),
    ...perHeader,
    ...ofCalls,
  ]);
  const passed = new Set([
    ...named,
    // Every proxy reports X-Forwarded-For, or the address from it, without being told to.
    ...(forwarded_header === 'forwarded' ? ['forwarded'] : []),
    ...READ_BY_GATEWAYS,
  ]);
  const isPassed = (name: string) => !owned.has(name);
  return {
    owned: [...owned],
    passed: [...passed].filter(isPassed),
    /** Limits or the identity depend on these, and proxies leave them as they are. The files remove Forwarded. */
    counted: [...named].filter((name) => isPassed(name) && name !== 'forwarded'),
  };
}

/** What the policy file reads of users and plans. */
export function vouchedIn({ sources, user, plan }: IdentitySection) {
  return [sources.includes('user') ? user : undefined, plan];
}

/** Whose metadata names users or plans. Only Envoy has metadata, and sends it only over gRPC. */
export function metadataOf({ identity }: Pick<Readings, 'identity'>): string[] {
  return namespacesOf(vouchedIn(identity));
}

/** The names of policies that charge afterwards: the application needs the token of each of their requests. */
export function settlingPolicies({ fallback, entries }: Readings): string[] {
  return [{ ...fallback, name: 'default' }, ...entries]
    .filter(chargesAfterwards)
    .map(({ name }) => name);
}

/** Without being named in the policy file: for logs, for preflights and CORS, and for pages in place of JSON. */
const READ_BY_GATEWAYS = ['traceparent', ORIGIN, REQUESTED_METHOD, 'accept'];

/** Without these, no page of `answers.cors` reads a denial, or preflights count like other requests. */
export function corsHeadersOf({ answers }: Pick<ValidFile, 'answers'>): readonly string[] {
  return answers.cors === undefined ? [] : [ORIGIN, REQUESTED_METHOD];
}

const ABBREVIATIONS: ReadonlyMap<string, string> = new Map([
  ['cf', 'CF'],
  ['id', 'ID'],
  ['ip', 'IP'],
]);

export function headerTitle(name: string): string {
  return name
    .split('-')
    .map((word) => ABBREVIATIONS.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join('-');
}
