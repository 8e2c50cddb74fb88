import {
  allLimits,
  chargesAfterwards,
  type IdentitySection,
  reserveHeadersOf,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { headersOf, namespacesOf } from '../../../gateway/core/identity/vouched.ts';

export type ClientHeaders = ReturnType<typeof clientHeadersOf>;

type Readings = Pick<ValidFile, 'identity' | 'answers' | 'fallback' | 'entries'>;

export function clientHeadersOf({ identity, answers, fallback, entries }: Readings) {
  const { sources, api_key, verified_headers, forwarded_header } = identity;
  const perHeader = [fallback, ...entries]
    .flatMap(allLimits)
    .filter(({ per }) => per.startsWith('header:'))
    .map(({ per }) => per.slice('header:'.length));
  /** The gateway trusts these, so the proxy must set them itself and must not pass on the client's. */
  const owned = new Set([
    ...headersOf(vouchedIn(identity)),
    ...perHeader.filter((name) => verified_headers.includes(name)),
    ...reserveHeadersOf([fallback, ...entries]),
  ]);
  const passed = new Set([
    ...(sources.includes('api_key') ? [api_key.header] : []),
    ...sources.flatMap((source) => {
      if (typeof source === 'object') return [source.header];
      return source === 'cf_connecting_ip' ? ['cf-connecting-ip'] : [];
    }),
    ...perHeader,
    // Every proxy reports X-Forwarded-For, or the address from it, without being told to.
    ...(forwarded_header === 'forwarded' ? ['forwarded'] : []),
    // Browsers say in it that they want a page.
    ...([answers, fallback.answers, ...entries.map((each) => each.answers)].some(hasPage)
      ? ['accept']
      : []),
    'traceparent',
  ]);
  return { owned: [...owned], passed: [...passed].filter((name) => !owned.has(name)) };
}

function hasPage(answers: { readonly page?: string | undefined } | undefined): boolean {
  return answers?.page !== undefined;
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

/** Those of the passed headers that a limit or the identity depends on, and that proxies leave as they are. */
export function sentByClients(file: Readings): string[] {
  return clientHeadersOf(file).passed.filter(isSentByClients);
}

/** The files remove Forwarded from requests to the application, and no limit depends on Accept and Traceparent. */
export function isSentByClients(passed: string): boolean {
  return !['forwarded', 'accept', 'traceparent'].includes(passed);
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
