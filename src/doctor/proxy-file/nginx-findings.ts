/** Everything that is examined in an NGINX configuration besides its check. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import { sentByClients } from '../../proxy-config/proxy-config.ts';
import type { DoctorFinding } from '../catalog.ts';
import { nginxChecks } from './nginx-checks.ts';
import { nginxDenials } from './nginx-denials.ts';
import { nginxErrorPages } from './nginx-error-pages.ts';
import { isForHeadgate, levelsIn } from './nginx-levels.ts';
import { nginxLosses } from './nginx-losses.ts';
import { nginxRewrites } from './nginx-rewrites.ts';
import { nginxSites } from './nginx-sites.ts';
import type { Directive } from './nginx-tree.ts';
import { nginxWays } from './nginx-ways.ts';
import type { Rewrite } from './rewrites.ts';
import { type Site, uncheckedPaths } from './unchecked-paths.ts';
import type { Way } from './ways.ts';

interface NginxSubjects {
  readonly sites: readonly Site[];
  readonly ways: readonly Way[];
  readonly rewrites: readonly Rewrite[];
  readonly losses: readonly DoctorFinding[];
}

export function nginxSubjects(
  tree: readonly Directive[],
  policies: ValidFile | undefined,
): NginxSubjects {
  const levels = tree.filter(({ name }) => name === 'http').flatMap((http) => levelsIn(http, []));
  const ofSite = levels.filter(({ at }) => !isForHeadgate(at));
  const sites = nginxSites(tree);
  const unchecked = policies === undefined ? [] : uncheckedPaths(sites, policies);
  const places = new Set(unchecked.map(({ subject }) => subject));
  return {
    sites,
    // One finding for a location is enough.
    ways: nginxWays(tree).filter(({ isChecked, place }) => isChecked || !places.has(place)),
    rewrites: policies === undefined ? [] : nginxRewrites(tree, policies),
    losses: grouped([
      ...nginxLosses(ofSite, policies === undefined ? [] : sentByClients(policies)),
      ...nginxDenials(ofSite),
      ...nginxChecks(levels),
      ...nginxErrorPages(tree),
    ]),
  };
}

const MOST_PLACES = 20;

/** Most sites repeat the same lines in many locations. The first place stands for all of them. */
function grouped(findings: readonly DoctorFinding[]): DoctorFinding[] {
  const groups = new Map<string, DoctorFinding[]>();
  for (const finding of findings) {
    const key = `${finding.id} ${finding.problem}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const places = others.slice(0, MOST_PLACES).map(({ subject }) => subject);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, problem: `also at ${[...places, ...more].join(', ')}: ${first.problem}` };
  });
}
