import { type Directive, named } from '../../proxy-files/nginx-syntax/directive.ts';

export interface MapVariable {
  readonly kind: 'map';
  readonly source: string;
  /** They have the order of the file, and the default is not among them. */
  readonly values: readonly { readonly pattern: string; readonly result: string }[];
  readonly fallback: string;
}

export interface GeoVariable {
  readonly kind: 'geo';
  /** The variable that has the address; undefined is the address of the client. */
  readonly source: string | undefined;
  readonly networks: readonly { readonly network: string; readonly result: string }[];
  readonly fallback: string;
}

/** The names have no dollar. */
export type Variables = ReadonlyMap<string, MapVariable | GeoVariable>;

const OF_MAP = ['hostnames', 'volatile', 'default', 'include'];
const OF_GEO = ['ranges', 'delete', 'proxy', 'proxy_recursive', 'default', 'include'];

export function variablesOf(directives: readonly Directive[]): Variables {
  const made = named(directives, 'map', 'geo').map((each) => {
    const name = (each.args.at(-1) ?? '').replace(/^\$/, '');
    return [name, each.name === 'map' ? mapOf(each) : geoOf(each)] as const;
  });
  return new Map(made);
}

function mapOf({ args: [source = ''], block }: Directive): MapVariable {
  const values = block
    .filter(({ name }) => !OF_MAP.includes(name))
    .map(({ name, args: [result = ''] }) => ({ pattern: name.replace(/^\\/, ''), result }));
  return { kind: 'map', source, values, fallback: defaultOf(block) };
}

function geoOf({ args, block }: Directive): GeoVariable {
  const networks = block
    .filter(({ name }) => !OF_GEO.includes(name))
    .map(({ name, args: [result = ''] }) => ({ network: name, result }));
  const source = args.length > 1 ? args[0] : undefined;
  return { kind: 'geo', source, networks, fallback: defaultOf(block) };
}

function defaultOf(block: readonly Directive[]): string {
  return named(block, 'default')[0]?.args[0] ?? '';
}
