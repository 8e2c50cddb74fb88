/** The three files of the gateway, what they say, and the ways to replace them. */
import { hash } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The numbers of the files' versions. Answers show them. */
export interface State {
  /** Files with mistakes have odd numbers. */
  readonly policies: number;
  readonly keys: number;
  readonly ranges: number;
}

export type FileName = keyof State;

/** A file and how it is replaced. */
export interface Replacement {
  readonly file: FileName;
  readonly way: Way;
}

const WAYS = ['written over', 'renamed over', 'mounted', 'signalled'] as const;
export type Way = (typeof WAYS)[number];
const FILES = ['policies', 'keys', 'policies', 'policies', 'ranges'] as const;

/** All combinations in turn. */
export function replacements(count: number): Replacement[] {
  return Array.from({ length: count }, (_, i) => ({
    file: FILES[i % FILES.length] as FileName,
    way: WAYS[i % WAYS.length] as Way,
  }));
}

export const FIRST_STATE: State = { policies: 0, keys: 0, ranges: 0 };
export const MEMBER_KEY = 'the key of a member';
export const CDN = '203.0.113.7';
export const BLOCKED = '192.0.2.66';
/** The remainder of a limit divided by this is the number of its file. */
export const NUMBERS = 1_000;
export const PLANS = 10;
const DEFAULT_LIMIT = 10_000;
export const PLAN_LIMIT = 20_000;
const PAIR_LIMIT = 40_000;
const GLOBAL_LIMIT = 900_000;
export const KEPT_LIMIT = 50;

export interface OtherEntries {
  /** Policies and listed keys that no request uses. */
  readonly otherPolicies: number;
  readonly otherKeys: number;
}

export class Files {
  readonly #folder: string;
  readonly #otherPolicies: string;
  readonly #otherKeys: string;
  #replaced = 0;

  constructor(folder: string, { otherPolicies, otherKeys }: OtherEntries) {
    this.#folder = folder;
    this.#otherPolicies = lines(otherPolicies, (i) => {
      return `  - { name: other-${i}, match: { path: /other/${i} }, limits: [${i + 1}/1h] }`;
    });
    this.#otherKeys = lines(
      otherKeys,
      (i) => `- { id: other-${i}, sha256: ${hash('sha256', `other ${i}`)} }`,
    );
    for (const file of ['policies', 'keys', 'ranges'] as const)
      writeFileSync(this.path(file), this.text(file, FIRST_STATE, false));
  }

  path(file: FileName): string {
    return join(this.#folder, `${file}.yaml`);
  }

  text(file: FileName, state: State, isBroken: boolean): string {
    if (file === 'policies') return policyFile(state.policies, isBroken) + this.#otherPolicies;
    if (file === 'keys') return keyFile(state.keys, isBroken) + this.#otherKeys;
    return rangesFile(state.ranges, isBroken);
  }

  replace(file: FileName, way: Way, text: string): void {
    const path = this.path(file);
    if (way === 'written over') writeOver(path, text);
    else if (way === 'mounted') this.#mount(path, text);
    else {
      const next = `${path}.next`;
      writeFileSync(next, text);
      renameSync(next, path);
    }
  }

  /** As the kubelet does: a folder for each version, and a link that is renamed over the last one. */
  #mount(path: string, text: string): void {
    const data = `..${basename(path)}`;
    const version = `${data}-${this.#replaced++}`;
    mkdirSync(join(this.#folder, version));
    writeFileSync(join(this.#folder, version, basename(path)), text);
    link(version, join(this.#folder, data));
    if (!lstatSync(path).isSymbolicLink()) link(join(data, basename(path)), path);
  }
}

/** Truncates the file last, because a gateway on a busy machine might read an empty file. */
function writeOver(path: string, text: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, text);
  ftruncateSync(file, Buffer.byteLength(text));
  closeSync(file);
}

/** Replaces what is there. */
function link(target: string, path: string): void {
  const next = join(dirname(path), '..next');
  symlinkSync(target, next);
  renameSync(next, path);
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
}

/** The limit of `raised` grows by one request in every version that is loaded. The limit of `kept` stays. */
function policyFile(number: number, isBroken: boolean): string {
  const limit = (base: number) => `${base + number}/1h`;
  const plan = (_: unknown, i: number) => `p${i}: [${limit(PLAN_LIMIT + i * NUMBERS)}]`;
  return `version: 1
identity: { sources: [api_key, cf_connecting_ip, ip], api_key: { keys: keys.yaml } }
block: [${BLOCKED}]
default:
  limits: [${limit(DEFAULT_LIMIT)}]
  plans: { ${Array.from({ length: PLANS }, plan).join(', ')} }
policies:
  - name: pair-${number}
    match: { path: /pair }
    limits: [${limit(PAIR_LIMIT)}, { rate: ${limit(2 * PAIR_LIMIT)}, per: ip }]
  - { name: kept, match: { path: /kept }, limits: [${KEPT_LIMIT}/1h] }
  - { name: raised, match: { path: /raised }, cost: ${NUMBERS}, limits: [${limit(NUMBERS * (1 + number / 2))}] }
  - { name: refused-${number}, match: { path: /refused }, limits: [1/1h] }
  - { name: everything, always: true, limits: [{ rate: ${GLOBAL_LIMIT + number}/1s, per: global }] }
${isBroken ? '  - { name: mistaken, match: { path: /mistaken }, limits: [5/5m] }\n' : ''}`;
}

function keyFile(number: number, isBroken: boolean): string {
  const member = `- { id: member, sha256: ${hash('sha256', MEMBER_KEY)}, plan: p${number % PLANS} }\n`;
  return isBroken ? `${member}- { id: mistaken, sha256: none }\n` : member;
}

/** Every other version that is loaded has the CDN. */
function rangesFile(number: number, isBroken: boolean): string {
  const ranges = isCdnKnown(number) ? [`${CDN}/32`] : ['198.51.100.0/24'];
  if (isBroken) ranges.push('mistaken');
  return `checked: 2026-11-01\nranges: [${ranges.join(', ')}]\n`;
}

export function isCdnKnown(ranges: number): boolean {
  return ranges % 4 !== 0;
}
