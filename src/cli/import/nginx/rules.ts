import { lineText } from '../../proxy-files/file-place.ts';
import { directiveText } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding, leftOut, note } from '../shared/finding.ts';
import type { ImportedLimit } from '../shared/imported-limit.ts';
import { covers } from '../shared/paths.ts';
import type { CountedKey } from './key-parts.ts';
import type { Level, LimitReq, Zone } from './limits.ts';

interface CarriedLimit {
  readonly limit: ImportedLimit;
  readonly comment: string;
  readonly zone: string;
  readonly methods: CountedKey['methods'];
  readonly paths: CountedKey['paths'];
}

/** The limits of some methods and paths; undefined are all others. */
export interface MethodRules {
  readonly methods: readonly string[] | undefined;
  readonly path: string | undefined;
  readonly limits: readonly ImportedLimit[];
  readonly comments: readonly string[];
  readonly zones: readonly string[];
  /** Some limits of the level could not be carried over. */
  readonly isLeftOut: boolean;
}

export class Rules {
  readonly findings: Finding[] = [];
  readonly #zones: ReadonlyMap<string, Zone>;
  readonly #carried = new Map<LimitReq, CarriedLimit | undefined>();

  constructor(zones: ReadonlyMap<string, Zone>) {
    this.#zones = zones;
  }

  of(level: Level): MethodRules[] {
    const carried = level.limits
      .map((each) => this.#carry(each))
      .filter((each) => each !== undefined);
    const paths = [...new Set(carried.flatMap((each) => each.paths ?? []))];
    return [...paths, undefined].flatMap((path) => {
      const ofPath = carried.filter((each) => holdsAt(each, path));
      const isLeftOut = carried.length < level.limits.length;
      return [...methodGroups(ofPath), undefined].map((methods): MethodRules => {
        const those = ofPath.filter((each) => holdsFor(each, methods?.[0]));
        return {
          ...{ methods, path, isLeftOut },
          limits: those.map(({ limit }) => limit),
          comments: those.map(({ comment }) => comment),
          zones: those.map(({ zone }) => zone),
        };
      });
    });
  }

  #carry(limitReq: LimitReq): CarriedLimit | undefined {
    if (!this.#carried.has(limitReq)) this.#carried.set(limitReq, this.#read(limitReq));
    return this.#carried.get(limitReq);
  }

  #read({ zone: name, burst, delays, directive }: LimitReq): CarriedLimit | undefined {
    const what = directiveText(directive);
    const zone = this.#zones.get(name);
    if (zone === undefined) {
      const why = `there is no limit_req_zone with the name "${name}". Import the file that has it.`;
      this.findings.push(leftOut(directive.place, what, why));
      return undefined;
    }
    const { meaning, rate } = zone;
    const { place } = zone.directive;
    const written = directiveText(zone.directive);
    if (rate === undefined) {
      const why = 'its rate is not one that NGINX accepts, such as 10r/s or 30r/m.';
      this.findings.push(leftOut(place, written, why));
      return undefined;
    }
    if (typeof meaning === 'string') {
      this.findings.push(leftOut(place, written, `${meaning}.`));
      return undefined;
    }
    for (const { isApproximate, why } of meaning.remarks)
      this.findings.push((isApproximate ? approximate : note)(place, written, why));
    if (delays) {
      const why =
        'NGINX delays requests above the rate, and headgate does not: it lets the same number pass, at once. To spread them, keep limit_req in NGINX as well.';
      this.findings.push(approximate(directive.place, what, why));
    }
    return {
      limit: { rate, per: meaning.per, burst: burst + 1 },
      comment: `from ${what}, ${lineText(directive.place)}`,
      zone: name,
      methods: meaning.methods,
      paths: meaning.paths,
    };
  }
}

/** Methods with the same limits are one group. */
function methodGroups(carried: readonly CarriedLimit[]): string[][] {
  const methods = [...new Set(carried.flatMap((each) => each.methods?.names ?? []))];
  return [
    ...Map.groupBy(methods, (method) =>
      carried.map((each) => holdsFor(each, method)).join(),
    ).values(),
  ];
}

function holdsAt({ paths }: CarriedLimit, path: string | undefined): boolean {
  return paths === undefined || (path !== undefined && paths.some((each) => covers(each, path)));
}

/** `method` undefined: those that no map names. */
function holdsFor({ methods }: CarriedLimit, method: string | undefined): boolean {
  if (methods === undefined) return true;
  const isNamed = method !== undefined && methods.names.includes(method);
  return methods.are === 'only' ? isNamed : !isNamed;
}
