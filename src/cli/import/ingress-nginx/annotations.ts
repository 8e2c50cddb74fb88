import type { FilePlace } from '../../proxy-files/file-place.ts';
import { type Finding, leftOut } from '../shared/finding.ts';
import type { RateAmount } from '../shared/imported-limit.ts';
import { listed } from '../shared/texts.ts';
import type { YamlNode } from '../shared/yaml-node.ts';

export interface AnnotatedLimit {
  readonly annotation: 'limit-rps' | 'limit-rpm';
  readonly rate: RateAmount;
  readonly burst: number;
  readonly place: FilePlace;
}

export interface Annotated {
  readonly limits: readonly AnnotatedLimit[];
  readonly exempt: readonly string[];
  /** It has limits of requests that are not carried over. */
  readonly isLeftOut: boolean;
  readonly findings: readonly Finding[];
}

/** The prefix can be changed in the controller, so any domain is taken. */
const NAME =
  /^(?:[a-z0-9.-]+\/)(limit-[a-z-]+|global-rate-limit[a-z-]*|configuration-snippet|server-snippet)$/;
const WINDOWS_MS = { 'limit-rps': 1_000, 'limit-rpm': 60_000 } as const;
/** ingress-nginx uses this one without an annotation limit-burst-multiplier. */
const BURST_MULTIPLIER = 5;

/** The others limit connections or bandwidth. */
const OF_REQUESTS = /^global-rate-limit|-snippet$/;

const LEFT_OUT: Readonly<Record<string, string>> = {
  'limit-connections': 'headgate counts requests, and not open connections. Keep this annotation.',
  'limit-rate': 'headgate does not limit bandwidth. Keep this annotation.',
  'limit-rate-after': 'headgate does not limit bandwidth. Keep this annotation.',
  'global-rate-limit':
    'current versions of ingress-nginx ignore this annotation. For a limit over all replicas, write one in the policy file: gateways share their counters in Redis.',
};

export function annotatedLimits(annotations: readonly [string, YamlNode][]): Annotated {
  const known = annotations.flatMap(([name, node]): [string, YamlNode][] => {
    const short = NAME.exec(name)?.[1];
    return short === undefined ? [] : [[short, node]];
  });
  const byName = new Map(known);
  const multiplier = wholeNumber(byName.get('limit-burst-multiplier')) ?? BURST_MULTIPLIER;
  const findings: Finding[] = [];
  const limits = (['limit-rps', 'limit-rpm'] as const).flatMap((annotation): AnnotatedLimit[] => {
    const node = byName.get(annotation);
    if (node === undefined) return [];
    const limit = wholeNumber(node);
    if (limit === undefined) {
      const why =
        'it is not a whole number, so ingress-nginx ignores it or refuses the Ingress. Correct it.';
      findings.push(leftOut(node.place, `${annotation}: ${node.text ?? ''}`, why));
    }
    if (!limit) return [];
    // NGINX lets burst + 1 requests pass at once.
    const rate = { limit, windowMs: WINDOWS_MS[annotation] };
    return [{ annotation, rate, burst: limit * multiplier + 1, place: node.place }];
  });
  const allowed = byName.get('limit-allowlist') ?? byName.get('limit-whitelist');
  const others = known.flatMap(([name, node]) => otherLimit(name, node));
  const isLeftOut =
    findings.length > 0 ||
    known.some((each) => OF_REQUESTS.test(each[0]) && otherLimit(...each).length > 0);
  findings.push(...others);
  return { limits, exempt: listed(allowed?.text ?? ''), isLeftOut, findings };
}

function otherLimit(name: string, node: YamlNode): Finding[] {
  const key = name.startsWith('global-rate-limit') ? 'global-rate-limit' : name;
  const written = node.text ?? '';
  if (/-snippet$/.test(name)) {
    if (!/limit_(req|conn|rate)/.test(written)) return [];
    const why =
      'limits in snippets are lines of NGINX. Save the snippet as a file, and import it with headgate import nginx.';
    return [leftOut(node.place, name, why)];
  }
  const why = Object.hasOwn(LEFT_OUT, key) ? LEFT_OUT[key] : undefined;
  if (why === undefined || written === '0') return [];
  return [leftOut(node.place, `${name}: ${written}`, why)];
}

function wholeNumber(node: YamlNode | undefined): number | undefined {
  const text = node?.text?.trim() ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

export function limitText({ annotation, rate }: AnnotatedLimit): string {
  return `${annotation}: ${rate.limit}`;
}
