import { type Directive, named } from '../../proxy-files/nginx-syntax/directive.ts';
import type { RateAmount } from '../shared/imported-limit.ts';
import { keyMeaning } from './key.ts';
import type { KeyMeaning } from './key-parts.ts';
import type { Variables } from './variables.ts';

export interface Zone {
  readonly name: string;
  readonly meaning: KeyMeaning;
  readonly rate: RateAmount | undefined;
  readonly directive: Directive;
}

export interface LimitReq {
  readonly zone: string;
  readonly burst: number;
  readonly delays: boolean;
  readonly directive: Directive;
}

export interface Level {
  readonly limits: readonly LimitReq[];
  readonly dryRun: boolean;
  /** It includes a file that cannot be read and may have limits. */
  readonly isOpen?: boolean;
}

export const NO_LIMITS: Level = { limits: [], dryRun: false };

/** These never have limits. */
const HARMLESS = /mime\.types|_params|ssl|letsencrypt/;

export function zonesOf(
  directives: readonly Directive[],
  variables: Variables,
): ReadonlyMap<string, Zone> {
  const zones = named(directives, 'limit_req_zone').map((directive): [string, Zone] => {
    const [key = ''] = directive.args;
    const name = parameter(directive, 'zone')?.split(':')[0] ?? '';
    const meaning = keyMeaning(key, variables);
    return [name, { name, meaning, rate: rateOf(parameter(directive, 'rate')), directive }];
  });
  return new Map(zones);
}

/** Undefined if the line is not one that NGINX accepts. */
function rateOf(text = '1r/s'): RateAmount | undefined {
  const [, count, unit] = /^(\d{1,9})r\/([sm])$/.exec(text) ?? [];
  const limit = Number(count);
  if (!(limit > 0)) return undefined;
  return { limit, windowMs: unit === 's' ? 1_000 : 60_000 };
}

/** A level without `limit_req` lines inherits those of the level around it. `limit_req_dry_run` is inherited in the same way. */
export function levelOf(block: readonly Directive[], outer: Level): Level {
  const own = named(block, 'limit_req').map(limitReqOf);
  const dryRun = named(block, 'limit_req_dry_run').at(-1)?.args[0];
  const isOpen = named(block, 'include').some(({ args: [path = ''] }) => !HARMLESS.test(path));
  return {
    limits: own.length > 0 ? own : outer.limits,
    dryRun: dryRun === undefined ? outer.dryRun : dryRun === 'on',
    isOpen: own.length === 0 && (isOpen || outer.isOpen === true),
  };
}

function limitReqOf(directive: Directive): LimitReq {
  const burst = Number(/^\d{1,9}$/.exec(parameter(directive, 'burst') ?? '0')?.[0] ?? 0);
  const isImmediate = directive.args.includes('nodelay');
  return {
    zone: parameter(directive, 'zone') ?? '',
    burst,
    delays: burst > 0 && !isImmediate,
    directive,
  };
}

function parameter({ args }: Directive, name: string): string | undefined {
  return args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** What counts its requests together: the same zones with the same bursts. Empty without limits. */
export function signatureOf({ limits, dryRun }: Level): string {
  if (limits.length === 0) return '';
  return JSON.stringify([limits.map(({ zone, burst }) => [zone, burst]), dryRun]);
}

/** All limits of several levels. NGINX counts a request once in each zone. */
export function joinedLevel(levels: readonly Level[]): Level {
  const byText = new Map(
    levels
      .flatMap(({ limits }) => limits)
      .map((each) => [JSON.stringify([each.zone, each.burst]), each]),
  );
  return { limits: [...byText.values()], dryRun: levels.every(({ dryRun }) => dryRun) };
}
