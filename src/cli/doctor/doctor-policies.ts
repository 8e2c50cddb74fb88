/** What `headgate doctor` finds about the policy file, also compared with that of a running gateway. */
import { existsSync, statSync } from 'node:fs';
import {
  type Found,
  type PolicyFiles,
  readPolicies,
} from '../../gateway/config/policy-file/read.ts';
import { displayName, readText } from '../../gateway/config/text-file.ts';
import { relativeTime } from '../../gateway/operations/time-text.ts';
import { examinePolicies } from '../check/advice/examine-policies.ts';
import { placeOf, policiesInWords, sentenceOf } from '../output/diagnostics.ts';
import { type DoctorFinding, found } from '../proxy-files/read/catalog.ts';
import type { GatewayState } from './gateway-state.ts';

/** What `headgate check` finds. */
export function policyFindings(files: PolicyFiles): DoctorFinding[] {
  const { file, policies, diagnostics } = examinePolicies(files, Date.now(), (path) =>
    readText(path),
  );
  const findings = diagnostics.map((diagnostic) => {
    const { line, column } = placeOf(diagnostic);
    return {
      id: diagnostic.rule,
      severity: diagnostic.severity,
      part: 'configuration' as const,
      subject: `${diagnostic.file}:${line}:${column}`,
      problem: sentenceOf(diagnostic),
      remedy: diagnostic.remedy,
    };
  });
  if (policies === undefined) return findings;
  return [...findings, found('policy-file', file, `valid: ${policiesInWords(policies)}`)];
}

/** Undefined if the file has mistakes, which are reported already. */
export function validPolicies(files: PolicyFiles): Found | undefined {
  const { found: read } = readPolicies(files);
  return 'mistakes' in read ? undefined : read;
}

/** The name that headgate init and the documentation use. */
const USUAL_NAME = 'policies.yaml';

export interface ExaminedFile {
  readonly path: string;
  /** Undefined if the file has mistakes. */
  readonly digest: string | undefined;
  /** By an option or a setting. */
  readonly isNamed: boolean;
}

/** Whether this is the file that matters. `gateway`: the running one, if there is one. */
export function choiceFindings(
  { path, digest, isNamed }: ExaminedFile,
  gateway: GatewayState | undefined,
): DoctorFinding[] {
  const isServed = digest !== undefined && gateway?.digests.includes(digest) === true;
  if (isServed) return [];
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
