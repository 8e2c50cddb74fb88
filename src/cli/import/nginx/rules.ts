import { lineText } from '../../proxy-files/file-place.ts';
import { directiveText } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding, leftOut, note } from '../shared/finding.ts';
import type { ImportedLimit } from '../shared/imported-limit.ts';
import type { CountedKey } from './key-parts.ts';
import type { Level, LimitReq, Zone } from './limits.ts';

interface CarriedLimit {
  readonly limit: ImportedLimit;
  readonly comment: string;
  readonly zone: string;
  readonly methods: CountedKey['methods'];
}

export interface MethodRules {
  readonly methods: readonly string[] | undefined;
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
    const methods = [...new Set(carried.flatMap((each) => each.methods?.names ?? []))];
    const groups = new Map<string, string[]>();
    for (const method of methods) {
      const key = carried.map((each) => holdsFor(each, method)).join();
      groups.set(key, [...(groups.get(key) ?? []), method]);
    }
    const rulesFor = (names: readonly string[] | undefined): MethodRules => {
      const those = carried.filter((each) => holdsFor(each, names?.[0]));
      return {
        methods: names,
        limits: those.map(({ limit }) => limit),
        comments: those.map(({ comment }) => comment),
        zones: those.map(({ zone }) => zone),
        isLeftOut: carried.length < level.limits.length,
      };
    };
    return [...[...groups.values()].map(rulesFor), rulesFor(undefined)];
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
    };
  }
}

/** `method` undefined: those that no map names. */
function holdsFor({ methods }: CarriedLimit, method: string | undefined): boolean {
  if (methods === undefined) return true;
  const isNamed = method !== undefined && methods.names.includes(method);
  return methods.are === 'only' ? isNamed : !isNamed;
}
