/** Advice on users and plans of proxies that have no effect. */
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import {
  allLimits,
  everyEntry,
  keySources,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';

export function adviceOnVouched(file: ValidFile): DiagnosticDraft[] {
  return [...unreadUser(file), ...plansWithoutEffect(file), ...dottedClaims(file)];
}

function unreadUser({ identity: { sources, user } }: ValidFile): DiagnosticDraft[] {
  if (sources.includes('user') || !('metadata' in user)) return [];
  const message = 'is not read: add user to identity.sources, or remove it';
  return [{ rule: 'user-not-read', path: ['identity', 'user'], message }];
}

function plansWithoutEffect(file: ValidFile): DiagnosticDraft[] {
  if (file.identity.plan === undefined) return [];
  const isUsed = everyEntry(file).some(({ entry }) => Object.keys(entry.plans).length > 0);
  const nobody =
    'nobody can have it, because it counts for listed keys, users and verified headers, and the file has none of these: add user or api_key to identity.sources';
  return [
    ...(isUsed ? [] : ['no policy has plans: add limits for each plan, or remove it']),
    ...(knowsClients(file) ? [] : [nobody]),
  ].map((message) => ({ rule: 'plan-without-effect', path: ['identity', 'plan'], message }));
}

/** Whether some client is more than an address, so that it can have the plan that a proxy names. */
function knowsClients(file: ValidFile): boolean {
  const { sources, verified_headers, plan } = file.identity;
  const hasKeys = file.keys.length > 0 || keySources(file.identity).inStore;
  if (sources.includes('user') || (sources.includes('api_key') && hasKeys)) return true;
  const ofPlan = plan !== undefined && 'header' in plan ? plan.header : undefined;
  const counted = everyEntry(file).flatMap(({ entry }) => allLimits(entry).map(({ per }) => per));
  return verified_headers.some((name) => name !== ofPlan && counted.includes(`header:${name}`));
}

const JWT_FILTER = 'envoy.filters.http.jwt_authn';

/** This filter keeps claims inside a name of their own. Names that are URLs have dots. */
function dottedClaims({ identity: { user, plan } }: ValidFile): DiagnosticDraft[] {
  return Object.entries({ user, ...(plan && { plan }) }).flatMap(([key, each]) => {
    if (!('metadata' in each) || each.metadata !== JWT_FILTER || each.claim.length > 1) return [];
    const [name = ''] = each.claim;
    const names = name.split('.');
    if (names.length < 2 || name.includes('/') || names.includes('')) return [];
    const message = `"${name}" is one name, did you mean [${names.join(', ')}]?`;
    return [{ rule: 'claim-with-dot', path: ['identity', key, 'claim'], message }];
  });
}
