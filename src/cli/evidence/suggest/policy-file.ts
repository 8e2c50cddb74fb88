/** Writes proposed limits into a policy file, in shadow mode, with the evidence as comments. */
import { type Document, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { MAX_LIMIT } from '../../../gateway/core/counting/store.ts';
import type { Measured } from './measure.ts';
import { STRATA } from './strata.ts';
import type { Proposal, RouteSuggestion, Suggestions } from './suggest.ts';
import { rateText, type WindowLimit } from './windows.ts';
import { deniedText, evidenceText, extentText, lackText, STRATUM_WORDS } from './words.ts';

const CAPACITY_POLICY = 'capacity';

/**
 * `text` is a valid policy file. All that is not about limits per client stays as it is. `capacity` becomes a limit
 * for all clients together.
 */
export function writePolicyFile(
  text: string,
  suggestions: Suggestions,
  { capacity, notes }: { capacity: WindowLimit | undefined; notes: readonly string[] },
): string {
  const document = parseDocument(text);
  const { routes, fitted, heldOut } = suggestions;
  const root = document.contents as YAMLMap;
  const policies = root.get('policies');
  const entries = isSeq(policies) ? policies.items.filter(isMap) : [];
  for (const each of routes) {
    const entry =
      each.route.name === 'default'
        ? root.get('default')
        : entries.find((item) => item.get('name') === each.route.name);
    if (isMap(entry)) rewrite(document, entry, each);
  }
  for (const entry of entries.slice(1)) entry.spaceBefore = true;
  if (capacity !== undefined && !entries.some((item) => item.get('name') === CAPACITY_POLICY)) {
    document.addIn(['policies'], capacityEntry(document, capacity));
  }
  comment(document, [
    `Proposed by headgate suggest from ${extentText(fitted)}.`,
    ...(heldOut === undefined ? [] : [`Held out to check the limits: ${extentText(heldOut)}.`]),
    'In shadow mode a policy denies nobody: headgate counts, and reports what it would deny.',
    'A client is denied if one of its requests is. In parentheses: the range of the true share, with 95 % confidence.',
    ...notes,
  ]);
  return document.toString({ lineWidth: 0 });
}

interface Commented {
  commentBefore?: string | null | undefined;
}

function comment(node: Commented, lines: readonly string[]): void {
  const before = node.commentBefore ? [node.commentBefore] : [];
  node.commentBefore = [...before, ...lines.map((line) => ` ${line}`)].join('\n');
}

function rewrite(
  document: Document,
  entry: YAMLMap,
  { route, evidence, proposal }: RouteSuggestion,
): void {
  const limits = entry.get('limits');
  const written = isSeq(limits) ? limits.items : [];
  const kept = written.filter(
    (item) => isMap(item) && item.has('per') && item.get('per') !== 'client',
  );
  // A policy without a limit per client, such as one for all clients together, needs none.
  if (kept.length === written.length) return;
  const recommended = proposal?.choices.find(({ isRecommended }) => isRecommended);
  if (proposal === undefined || recommended === undefined) {
    comment(entry, [`Not enough evidence for limits: ${lackText(evidence)}.`]);
    return;
  }
  comment(entry, [
    `${route.title}: ${recommended.reason}. Certainty: ${proposal.certainty}.`,
    `Rests on ${evidenceText(evidence)}.`,
    ...measuredLines('Would have denied', recommended.measured),
    ...(recommended.heldOut === undefined
      ? []
      : measuredLines('On the days held out', recommended.heldOut)),
    ...otherChoices(proposal, route.cost),
  ]);
  const rates = ratesOf(recommended.limits, route.cost);
  entry.set('limits', document.createNode([...rates, ...kept], { flow: kept.length === 0 }));
  if (entry.get('mode') !== 'off') entry.set('mode', 'shadow');
}

/** `cost`: what each request counts as. */
function ratesOf(limits: readonly WindowLimit[], cost: number): string[] {
  return limits.map(({ limit, windowMs }) =>
    rateText({ limit: Math.min(MAX_LIMIT, limit * cost), windowMs }),
  );
}

function measuredLines(title: string, measured: Measured): string[] {
  const rows = STRATA.filter((stratum) => measured[stratum].clients.of > 0).map((stratum) => {
    const { clients, requests } = measured[stratum];
    return `  ${STRATUM_WORDS[stratum]}: ${deniedText(clients)}, requests: ${deniedText(requests)}`;
  });
  return rows.length === 0 ? [] : [`${title}:`, ...rows];
}

function otherChoices({ choices }: Proposal, cost: number): string[] {
  const others = choices.filter(({ isRecommended }) => !isRecommended);
  if (others.length === 0) return [];
  return [
    'Other choices, and the clients that they would have denied:',
    ...others.map(({ limits, measured, reason }) => {
      const rates = ratesOf(limits, cost).join(', ');
      return `  [${rates}] ${deniedText(measured.ordinary.clients)}: ${reason}`;
    }),
  ];
}

function capacityEntry(document: Document, capacity: WindowLimit) {
  const limit = { rate: rateText(capacity), per: 'global' };
  const policy = { name: CAPACITY_POLICY, always: true, limits: [limit], mode: 'shadow' };
  const entry = document.createNode(policy) as YAMLMap;
  entry.spaceBefore = true;
  comment(entry, ['What the service can take in all (--capacity).']);
  return entry;
}

const DEFAULT_LIMITS = '[1000/1h]';

/** `sources`: of the client's identity; undefined for headgate's default. */
export function draftPolicyFile(
  routes: readonly RouteSuggestion[],
  sources: readonly string[] | undefined,
): string {
  const policies = routes.flatMap(({ route: { name, match }, proposal }) => {
    if (match === undefined || proposal === undefined) return [];
    const { methods, path } = match;
    const method = methods.length === 1 ? methods[0] : `[${methods.join(', ')}]`;
    return [
      `  - name: ${name}`,
      `    match: { method: ${method}, path: "${path}" }`,
      `    limits: ${DEFAULT_LIMITS}`,
    ];
  });
  const hasEvidence = routes.some(
    ({ route, proposal }) => route.name === 'default' && proposal !== undefined,
  );
  return [
    'version: 1',
    ...(sources === undefined ? [] : [`identity: { sources: [${sources.join(', ')}] }`]),
    'default:',
    ...(hasEvidence ? [] : ["  # Not from the log: it is headgate's own default."]),
    '  mode: shadow',
    `  limits: ${DEFAULT_LIMITS}`,
    ...(policies.length === 0 ? ['policies: []'] : ['policies:', ...policies]),
    '',
  ].join('\n');
}
