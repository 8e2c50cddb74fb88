/** A policy file for routes that were found in a log. Its limits are to be replaced. */
import type { RouteSuggestion } from './suggest.ts';

/** headgate's own default, for requests without evidence. */
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
