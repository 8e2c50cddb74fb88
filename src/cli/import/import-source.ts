import type { ProxyFiles } from '../proxy-files/read/proxy-files.ts';
import { importIngressNginx } from './ingress-nginx/import-ingress-nginx.ts';
import type { ImportKind } from './kinds.ts';
import { importKong } from './kong/import-kong.ts';
import { importNginx } from './nginx/import-nginx.ts';
import type { Finding } from './shared/finding.ts';
import type { ImportedFile } from './shared/imported-limit.ts';
import { settle } from './shared/settle.ts';
import { type WriteOptions, writePolicyFile } from './shared/write-policy-file.ts';
import { importTraefik } from './traefik/import-traefik.ts';

export { findingLine, ImportError } from './shared/finding.ts';

const CONVERTERS: Readonly<Record<ImportKind, (source: ProxyFiles) => ImportedFile>> = {
  nginx: importNginx,
  'ingress-nginx': importIngressNginx,
  traefik: importTraefik,
  kong: importKong,
};

export interface Imported {
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly policies: number;
  readonly limitsFound: number;
  /** Some limit of the source is in the policy file. */
  readonly hasLimits: boolean;
}

/** Throws an ImportError if the text is not what the kind says. It never runs what it reads. */
export function importPolicies(
  kind: ImportKind,
  source: ProxyFiles,
  options: Pick<WriteOptions, 'shadow'>,
): Imported {
  const { name } = source.main;
  const file = settle(CONVERTERS[kind](source), name);
  const { policies, findings, limitsFound } = file;
  const text = writePolicyFile(file, { ...options, kind, source: name });
  const hasLimits = [file.default, ...policies].some((each) => (each?.limits.length ?? 0) > 0);
  return { text, findings, policies: policies.length, limitsFound, hasLimits };
}
