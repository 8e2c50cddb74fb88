import { existsSync, statSync } from 'node:fs';
import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import {
  type Found,
  type PolicyFiles,
  readPolicies,
} from '../../gateway/config/policy-file/read.ts';
import { displayName, readText } from '../../gateway/config/text-file.ts';
import { plural, relativeTime } from '../../gateway/operations/texts.ts';
import { examinePolicies } from '../check/advice/examine-policies.ts';
import { placeOf, policiesInWords } from '../output/diagnostics.ts';
import { found } from './catalog.ts';
import type { GatewayState } from './gateway-state.ts';

/** Finds the same as `headgate check`. */
export function policyFindings(files: PolicyFiles): Diagnostic[] {
  const { file, policies, diagnostics } = examinePolicies(files, Date.now(), (path) =>
    readText(path),
  );
  const findings = diagnostics.map((each) => ({ ...each, place: placeOf(each) }));
  if (policies === undefined) return findings;
  return [...findings, found('policy-file', file, `valid: ${policiesInWords(policies)}`)];
}

/** Returns undefined if the file has mistakes, which are reported already. */
export function validPolicies(files: PolicyFiles): Found | undefined {
  const { found: read } = readPolicies(files);
  return 'mistakes' in read ? undefined : read;
}

const USUAL_NAME = 'policies.yaml';

export interface ExaminedFile {
  readonly path: string;
  readonly digest: string | undefined;
  /** An option or a setting names the file. */
  readonly isNamed: boolean;
}

export function choiceFindings(
  { path, digest, isNamed }: ExaminedFile,
  gateway: GatewayState | undefined,
): Diagnostic[] {
  if (digest !== undefined && gateway?.digests.includes(digest)) return [];
  const file = displayName(path);
  if (!isNamed) {
    const served = gateway === undefined ? '' : '; the running gateway serves another one';
    const near = existsSync(USUAL_NAME) ? `; ${USUAL_NAME} in this folder was not examined` : '';
    const problem = `this file comes with headgate, and was examined because none was named${served}${near}`;
    return [found('policy-file-not-named', file, problem)];
  }
  if (gateway === undefined || digest === undefined) return [];
  const ago = (ms: number) => relativeTime(new Date(ms).toISOString(), Date.now());
  const { digests, loadedMs, hasRefused } = gateway;
  const read = loadedMs === undefined ? '' : `, read ${ago(loadedMs)}`;
  const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  const changed = changedMs === undefined ? '' : `, changed ${ago(changedMs)}`;
  const refused = hasRefused ? '; the gateway has refused a newer version of its file' : '';
  const problem = `the running gateway serves ${digests.join(' and ')}${read}, and this file is ${digest}${changed}${refused}`;
  return [found('other-policy-file', file, problem)];
}

export function planFindings(gateway: GatewayState | undefined): Diagnostic[] {
  const { unknownPlans = 0 } = gateway ?? {};
  if (unknownPlans === 0) return [];
  const problem = `of ${plural(unknownPlans, 'request')} since the start, no policy has the plan, so they got the limits without one`;
  return [found('unknown-plans', 'the running gateway', problem)];
}
