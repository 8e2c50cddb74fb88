/** Reads the policy files that test files name, and compiles them with the API keys of the tests. */
import { hash } from 'node:crypto';
import { type Diagnostic, FileError } from '../../gateway/config/diagnostic.ts';
import { compilePolicies } from '../../gateway/config/policy-file/compile.ts';
import { validateFiles } from '../../gateway/config/policy-file/read.ts';
import type { ValidFile } from '../../gateway/config/policy-file/valid-file.ts';
import { displayName, isElsewhere, NOT_SHOWN, readText } from '../../gateway/config/text-file.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import type { WrittenApiKey } from './test-file-schema.ts';

export interface TestedPolicies {
  readonly file: string;
  readonly path: string;
  readonly set: PolicySet;
  /** The header of API keys, in lower case. */
  readonly apiKeyHeader: string;
}

/** The key that a client sends in place of the listed one, which only its owner knows. */
export function keyOfClient(id: string): string {
  return hash('sha256', `headgate test ${id}`, 'hex');
}

/** What reading a policy file gave. `unreadable`: why there is no file. */
type Reading =
  | Pick<ReturnType<typeof validateFiles>, 'file' | 'ranges'>
  | { readonly unreadable: string }
  | 'invalid';

export class PolicyFileReader {
  readonly mistakes: Diagnostic[] = [];
  readonly #cloudflareRanges: string;
  readonly #readings = new Map<string, Reading>();

  constructor(cloudflareRanges: string) {
    this.#cloudflareRanges = cloudflareRanges;
  }

  /**
   * Undefined if the file has mistakes. Throws a RangeError that says why it cannot be read. `folder`: that of the test
   * file.
   */
  read(path: string, keys: TestKeys, folder: string): TestedPolicies | undefined {
    const reading = this.#readings.get(path) ?? this.#read(path, folder);
    this.#readings.set(path, reading);
    if (reading === 'invalid') return undefined;
    if ('unreadable' in reading) throw new RangeError(reading.unreadable);
    const { file, ranges } = reading;
    return {
      file: displayName(path),
      path,
      set: compilePolicies(withTestKeys(file, keys), ranges),
      apiKeyHeader: file.identity.api_key.header,
    };
  }

  #read(policies: string, folder: string): Reading {
    try {
      const paths = { policies, cloudflareRanges: this.#cloudflareRanges };
      return validateFiles(paths, (path, namedBy) =>
        readText(path, path === policies ? undefined : namedBy),
      );
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const [first] = error.diagnostics;
      if (first?.rule === 'unreadable-file' && first.file === displayName(policies)) {
        return { unreadable: `names ${first.file}, which ${first.message}` };
      }
      const own = error.diagnostics.filter(({ file }) => file === displayName(policies));
      // A test file can name any file of the machine.
      if (isElsewhere(policies, folder) && areOfAnotherKind(own)) {
        return { unreadable: `names ${displayName(policies)}, which ${NOT_SHOWN}` };
      }
      this.mistakes.push(...error.diagnostics);
      return 'invalid';
    }
  }
}

export interface TestKeys {
  readonly sent: ReadonlySet<string>;
  /** Keys that count as listed, in addition to those of the policy file. */
  readonly listed: readonly WrittenApiKey[];
}

/** Keys with the same id share a quota, so the key of the test counts as the listed one. */
function withTestKeys(file: ValidFile, { sent, listed }: TestKeys): ValidFile {
  const known = [...file.keys, ...listed];
  const added = [...sent].flatMap((id) => {
    const entry = known.find((each) => each.id === id);
    return entry === undefined
      ? []
      : [{ id, plan: entry.plan, sha256: hash('sha256', keyOfClient(id), 'hex') }];
  });
  return { ...file, keys: [...file.keys, ...added] };
}

/** Whether a file with these mistakes is of another kind: it is no YAML, or lacks a key that every such file has. */
function areOfAnotherKind(mistakes: readonly Diagnostic[]): boolean {
  return mistakes.some(
    ({ rule, path }) =>
      rule === 'invalid-yaml' || path === '' || (rule === 'missing-key' && /^[^.[]*$/.test(path)),
  );
}
