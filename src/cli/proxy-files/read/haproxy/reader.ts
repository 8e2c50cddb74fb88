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
    owned: new Set(rules.slice(0, rules.indexOf(check)).flatMap(ownedHeader)),
    secret: rules.flatMap(secretOf)[0],
    gateways: serversOf(gatewayOf(sections)?.lines ?? []),
  };
}

/** Under a condition, or with a value that has the client's own in it, the proxy does not own the header. */
function ownedHeader({ words: [, action, name, ...more] }: Line): string[] {
  if (!/^(set|del)-header$/.test(action ?? '') || name === undefined) return [];
  const owned = name.toLowerCase();
  const isConditional = more.some((word) => word === 'if' || word === 'unless');
  const read = [...more.join(' ').matchAll(/\breq\.f?hdr\(\s*["']?([\w-]+)/gi)];
  const hasOwn = read.some(([, header]) => header?.toLowerCase() === owned);
  return isConditional || hasOwn ? [] : [owned];
}

function secretOf({ words: [, action, value] }: Line): string[] {
  if (action !== 'set-var(txn.headgate_secret)') return [];
  const secret = /^str\("?(.*?)"?\)$/.exec(value ?? '')?.[1];
  return secret === undefined ? [] : [secret];
}
