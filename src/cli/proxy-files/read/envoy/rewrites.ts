import { expressionSamples } from '../expression-samples.ts';
import {
  changeTo,
  escaped,
  type PathChange,
  partReplaced,
  prefixReplaced,
  UNKNOWN_TEXT,
} from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { at, textAt } from '../yaml.ts';
import type { CheckedManager, EnvoyFile, EnvoyRoute, VirtualHost } from './config.ts';
import { sendsRequestId } from './findings.ts';
import { isCertain, isExactPath, mayMatch, pathOf, routeName, settingsOf } from './route.ts';
import { clustersOf } from './routes.ts';

export function envoyRewrites({ checked, placeOf }: EnvoyFile): Rewrite[] {
  return checked.flatMap((manager) =>
    manager.hosts.flatMap((host) =>
      host.routes.flatMap((route) => {
        const { match } = route;
        const samples = expressionSamples(textAt(match, 'safe_regex', 'regex') ?? '');
        return allChanges(route, manager).map(({ key, change }) => ({
          what: `${key} of ${routeName(match)}`,
          place: placeOf(route.map),
          hosts: host.names,
          change,
          sent: [pathOf(match) ?? '', ...samples],
          isApplied: (path) => mayMatch(match, path),
          isServed: (path) => isServedAsItIs(path, route, host),
        }));
      }),
    ),
  );
}

interface Changing {
  readonly key: string;
  readonly change: PathChange | undefined;
}

function allChanges(route: EnvoyRoute, manager: CheckedManager): Changing[] {
  // Envoy follows redirects of the application. With one request id, headgate decides once.
  const key = 'internal_redirect_policy';
  const isOn = at(route.action, key) !== undefined && sendsRequestId(manager);
  const namesPolicy = route.levels
    .flatMap(settingsOf)
    .some(({ filter, policy }) => filter === manager.check.name && policy !== undefined);
  return [...(isOn ? [{ key, change: undefined }] : []), ...(namesPolicy ? [] : changesBy(route))];
}

function changesBy({ action, match }: EnvoyRoute): Changing[] {
  const prefix = textAt(action, 'prefix_rewrite');
  const pattern = textAt(action, 'regex_rewrite', 'pattern', 'regex');
  const substitution = textAt(action, 'regex_rewrite', 'substitution');
  const written = textAt(action, 'path_rewrite');
  const policy = at(action, 'path_rewrite_policy', 'typed_config');
  const template = textAt(policy, 'path_template_rewrite');
  const own = pathOf(match);
  if (prefix !== undefined) {
    const key = 'prefix_rewrite';
    // Such a route takes whole paths.
    if (own === undefined) return [{ key, change: changeTo(prefix) }];
    const exact = { expression: `^${escaped(own)}$`, target: prefix };
    // What follows a folder begins with a slash.
    const isFolder = textAt(match, 'path_separated_prefix') !== undefined;
    const by = isFolder ? prefix.replace(/\/$/, '') : prefix;
    return [{ key, change: isExactPath(match) ? exact : prefixReplaced(own, by) }];
  }
  if (pattern !== undefined && substitution !== undefined)
    return [{ key: 'regex_rewrite', change: partReplaced(pattern, substitution) }];
  if (written !== undefined) return [{ key: 'path_rewrite', change: withUnknown(written) }];
  if (template === undefined) return [];
  return [{ key: 'path_rewrite_policy', change: withUnknown(template) }];
}

function withUnknown(written: string): PathChange {
  return changeTo(written.replaceAll(/%[^%]*%|\{[^}]*\}/g, UNKNOWN_TEXT));
}

/**
 * Clients that send this path get to the same application, or no client can send it. Otherwise the policy is for a path
 * of another application, or for one that this route rewrites, as it should be.
 */
function isServedAsItIs(path: string, route: EnvoyRoute, { routes }: VirtualHost): boolean {
  const own = routes.find(({ match }) => isCertain(match) && mayMatch(match, path));
  if (own === undefined) return true;
  if (changesBy(own).length > 0) return false;
  const reached = new Set(clustersOf(route.action).map(({ cluster }) => cluster));
  return clustersOf(own.action).some(({ cluster }) => reached.has(cluster));
}
