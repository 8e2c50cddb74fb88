/** Reads a file of HAProxy. */
import type { ProxyFacts } from './facts.ts';
import { haproxySections, isCheck, type Line, type Section } from './haproxy-sections.ts';
import { serversOf } from './haproxy-ways.ts';

export function haproxyFacts(text: string): ProxyFacts | undefined {
  if (!text.includes('lua.headgate')) return undefined;
  const sections = haproxySections(text);
  const rules = sections
    .flatMap(({ lines }) => lines)
    .filter(({ words }) => words[0] === 'http-request');
  const check = rules.find(isCheck);
  if (check === undefined) return undefined;
  return {
    proxy: 'haproxy',
    passed: new Set((check.words[3] ?? '').toLowerCase().split(',')),
    owned: new Set(rules.flatMap(ownedHeader)),
    secret: rules.flatMap(secretOf)[0],
    gateways: serversOf(gatewayOf(sections)?.lines ?? []),
    losesDenials: false,
    refusesAll: false,
  };
}

/** The backend that leads to headgate. */
export function gatewayOf(sections: readonly Section[]): Section | undefined {
  return sections.find(({ kind, name }) => kind === 'backend' && name === 'headgate');
}

function ownedHeader({ words: [, action, name] }: Line): string[] {
  return /^(set|del)-header$/.test(action ?? '') && name !== undefined ? [name.toLowerCase()] : [];
}

function secretOf({ words: [, action, value] }: Line): string[] {
  if (action !== 'set-var(txn.headgate_secret)') return [];
  const secret = /^str\("?(.*?)"?\)$/.exec(value ?? '')?.[1];
  return secret === undefined ? [] : [secret];
}
