/** Carries over the plugins rate-limiting and rate-limiting-advanced of Kong. */
import { lineText, placeText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ImportedFile, ImportedLimit, ImportedRules } from '../shared/imported-limit.ts';
import { suggestedLimit, windowProblem } from '../shared/rates.ts';
import {
  type LimitedRoute,
  notLimited,
  orderFindings,
  policiesOfRoutes,
  refuseTooMany,
  splitFinding,
} from '../shared/routes.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { kubernetesEntities } from './custom-resources.ts';
import { declarativeEntities } from './declarative.ts';
import type { Entities, Plugin, Route } from './entities.ts';
import { matchesOf } from './matches.ts';
import {
  consumerPlugin,
  keyHeaderOf,
  otherPlugin,
  PluginReader,
  RATE_LIMITING,
} from './plugins.ts';

export function importKong({ main: source }: ProxyFiles): ImportedFile {
  const documents = readDocuments(source);
  const entities = joined([
    ...documents.flatMap(declarativeEntities),
    kubernetesEntities(documents),
  ]);
  const all = everyPlugin(entities);
  const limiting = all.filter(isLimiting);
  if (limiting.length === 0) {
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
  const { policies, counts } = policiesOfRoutes(routes, fallback);
  return {
    sources: keys.apiKeyHeader === undefined ? [] : ['api_key'],
    apiKeyHeader: keys.apiKeyHeader,
    default: shared.length === 0 ? undefined : rulesOf(shared, reader, 'all requests'),
    policies,
    findings: [
      ...limiting
        .filter(({ consumer }) => consumer !== undefined)
        .map((plugin) => consumerPlugin(plugin, limitsAlone(plugin))),
      ...reader.findings,
      ...keys.findings,
      ...orderFindings(routes, 'Kong'),
      ...all.flatMap(otherPlugin),
      ...limiting.flatMap((plugin) => sharedPlugin(plugin, counts)),
      ...entities.loose
        .filter((each) => isLimiting(each) && each.consumer === undefined)
        .map(loosePlugin),
    ],
    limitsFound: limiting.length,
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

function isLimiting({ name }: Plugin): boolean {
  return RATE_LIMITING.includes(name);
}

/** Kong runs one plugin of each kind: that of the route, else that of the service, else the one for all requests. */
function effective(plugins: readonly Plugin[]): Plugin[] {
  return RATE_LIMITING.flatMap(
    (name) => plugins.find((each) => each.name === name && each.consumer === undefined) ?? [],
  );
}

function ownerOf(plugins: readonly Plugin[]): string {
  return plugins.map(({ place }) => placeText(place)).join('\n');
}

function routesOf(route: Route, reader: PluginReader, global: readonly Plugin[]): LimitedRoute[] {
  const { name, plugins, service, place } = route;
  const found = effective([...plugins, ...(service?.plugins ?? []), ...global]);
  const match = matchesOf(route);
  if (found.length > 0) reader.findings.push(...match.findings);
  const rules = rulesOf(found, reader, `route ${name}, ${lineText(place)}`);
  const { methods, templates } = match;
  const owner = ownerOf(found);
  // The route with the most conditions wins, and with as many, the one with a host.
  const { hosts, paths, others } = route;
  const weight = [hosts, paths, route.methods, others].filter((list) => list.length > 0).length;
  return match.hosts.flatMap((host) =>
    templates.map((template) => ({ owner, name, host, template, methods, weight, rules, place })),
  );
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
