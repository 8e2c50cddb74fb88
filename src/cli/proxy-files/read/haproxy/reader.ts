import type { ProxyFacts, ReadProxyFile } from '../reader.ts';
import { haproxyFindings } from './findings.ts';
import { haproxyRewrites } from './rewrites.ts';
import { haproxyRoutes, haproxySites, serversOf } from './routes.ts';
import { gatewayOf, haproxySections, isCheck, type Line, type Section } from './sections.ts';

export const readHaproxy: ReadProxyFile = ({ file, text }) => {
  const sections = text.includes('lua.headgate') ? haproxySections(file, text) : [];
  const facts = factsOf(sections);
  if (facts === undefined) return undefined;
  return {
    facts,
    sites: haproxySites(sections),
    routes: haproxyRoutes(sections),
    rewrites: haproxyRewrites(sections),
    own: haproxyFindings(sections),
  };
};

function factsOf(sections: readonly Section[]): ProxyFacts | undefined {
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
  };
}

function ownedHeader({ words: [, action, name] }: Line): string[] {
  return /^(set|del)-header$/.test(action ?? '') && name !== undefined ? [name.toLowerCase()] : [];
}

function secretOf({ words: [, action, value] }: Line): string[] {
  if (action !== 'set-var(txn.headgate_secret)') return [];
  const secret = /^str\("?(.*?)"?\)$/.exec(value ?? '')?.[1];
  return secret === undefined ? [] : [secret];
}
