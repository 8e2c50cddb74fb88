/** Carries over the plugins rate-limiting and rate-limiting-advanced of Kong. */
import { lineText, placeText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ImportedFile, ImportedLimit, ImportedRules } from '../shared/imported-limit.ts';
import type { LimitedRoute } from '../shared/limited-route.ts';
import { suggestedLimit, windowProblem } from '../shared/rates.ts';
import { splitFinding } from '../shared/route-findings.ts';
import { notLimited, policiesByOwner, policiesOfRoutes, refuseTooMany } from '../shared/routes.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { kubernetesEntities } from './custom-resources.ts';
import { declarativeEntities } from './declarative.ts';
import type { Entities, Plugin, Route } from './entities.ts';
import { matchesOf } from './matches.ts';
import { isOtherLimit, otherPlugin } from './other-plugins.ts';
import { consumerPlugin, keyHeaderOf, PluginReader, RATE_LIMITING } from './plugins.ts';

export function importKong({ main: source }: ProxyFiles): ImportedFile {
  const documents = readDocuments(source);
  const entities = joined([
    ...documents.flatMap(declarativeEntities),
    kubernetesEntities(documents),
  ]);
  const all = everyPlugin(entities);
  const limiting = all.filter(isLimiting);
  if (limiting.length === 0 && !all.some(isOtherLimit)) {
    const message =
      'has no plugin rate-limiting or rate-limiting-advanced. Name a declarative configuration of Kong, or Kubernetes objects with its plugins.';
    throw wrongSource(source.name, message);
  }
  const keys = keyHeaderOf(all);
  const reader = new PluginReader(keys.apiKeyHeader !== undefined);
  const shared = effective(entities.global);
  const fallback = ownerOf(shared);
  const routes = entities.routes.flatMap((route) => {
    const made = routesOf(route, reader, entities.global);
    refuseTooMany(made.length, source.name);
    return made;
  });
  const made = policiesOfRoutes(routes, { fallback });
  const counts = policiesByOwner(made);
  return {
    sources: keys.apiKeyHeader === undefined ? [] : ['api_key'],
    apiKeyHeader: keys.apiKeyHeader,
    default: shared.length === 0 ? undefined : rulesOf(shared, reader, 'all requests'),
    policies: made.made.map(({ policy }) => policy),
    findings: [
      ...limiting
        .filter(({ consumer }) => consumer !== undefined)
        .map((plugin) => consumerPlugin(plugin, limitsAlone(plugin))),
      ...reader.findings,
      ...keys.findings,
      ...made.findings,
      ...all.filter(isOtherLimit).map(otherPlugin),
      ...limiting.flatMap((plugin) => sharedPlugin(plugin, counts)),
      ...entities.loose
        .filter((each) => isLimiting(each) && each.consumer === undefined)
        .map(loosePlugin),
    ],
    limitsFound: limiting.length + all.filter(isOtherLimit).length,
  };
}

function joined(all: readonly Entities[]): Entities {
  return {
    routes: all.flatMap(({ routes }) => routes),
    global: all.flatMap(({ global }) => global),
    loose: all.flatMap(({ loose }) => loose),
  };
}

function everyPlugin({ routes, global, loose }: Entities): Plugin[] {
  const ofRoutes = routes.flatMap(({ plugins, service }) => [plugins, service?.plugins ?? []]);
  return [...new Set([...global, ...ofRoutes.flat(), ...loose])];
}

function isLimiting({ name, isMissing }: Plugin): boolean {
  return isMissing !== true && RATE_LIMITING.includes(name);
}

/** Kong runs one plugin of each kind: that of the route, else that of the service, else the one for all requests. */
function effective(plugins: readonly Plugin[]): Plugin[] {
  return RATE_LIMITING.flatMap(
    (name) =>
      plugins.find(
        (each) => isLimiting(each) && each.name === name && each.consumer === undefined,
      ) ?? [],
  );
}

function ownerOf(plugins: readonly Plugin[]): string {
  return plugins.map(({ place }) => placeText(place)).join('\n');
}

function routesOf(written: Route, reader: PluginReader, global: readonly Plugin[]): LimitedRoute[] {
  const { name, place, service } = written;
  const plugins = [...written.plugins, ...(service?.plugins ?? []), ...global];
  const found = effective(plugins);
  const rules = rulesOf(found, reader, `route ${name}, ${lineText(place)}`);
  const isLimited = rules.limits.length > 0;
  const isLeftOut = !isLimited && plugins.some((each) => isLimiting(each) || isOtherLimit(each));
  const { matches, findings } = matchesOf(written, isLimited);
  reader.findings.push(...findings);
  const owner = isLimited ? ownerOf(found) : '';
  const route = { owner, name, title: `route ${name}`, isLeftOut, rules, place };
  return matches.map((match) => ({ ...match, ...route }));
}

function rulesOf(plugins: readonly Plugin[], reader: PluginReader, title: string): ImportedRules {
  if (plugins.length === 0) return notLimited(title);
  const read = plugins.map((plugin) => ({ ...plugin, ...reader.limitsOf(plugin) }));
  return {
    limits: read.flatMap(({ limits }) => limits),
    comments: read.map(
      ({ name, text, place }) => `from ${name} ${text}, ${lineText(place)}: ${title}`,
    ),
    onStoreFailure: read.find((each) => each.onStoreFailure !== undefined)?.onStoreFailure,
  };
}

/** What is said about the limits themselves does not matter, since they are not carried over. */
function limitsAlone(plugin: Plugin): ImportedLimit[] {
  const { limits } = new PluginReader(true).limitsOf(plugin);
  return limits.filter(({ rate }) => windowProblem(rate) === undefined);
}

function sharedPlugin(plugin: Plugin, counts: ReadonlyMap<string, number>): Finding[] {
  const place = ownerOf([plugin]);
  const ofPlugin = [...counts].filter(([owner]) => owner.split('\n').includes(place));
  const own = ofPlugin.reduce((sum, [, count]) => sum + count, 0);
  const together = 'Kong counts all requests of this plugin';
  return splitFinding({ place: plugin.place, what: plugin.name, together }, own);
}

function loosePlugin(plugin: Plugin): Finding {
  const { name, place } = plugin;
  const suggested = limitsAlone(plugin).map(suggestedLimit).join(' and ');
  const why = `it belongs to something that is not in this file, or that headgate does not read. Write a policy for its requests${suggested === '' ? '' : `, with ${suggested}`}.`;
  return leftOut(place, name, why);
}
