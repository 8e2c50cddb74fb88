import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { type DiagnosticDraft, FileError, type Path } from '../../gateway/config/diagnostic.ts';
import { parsePart } from '../../gateway/config/policy-file/schema-mistakes.ts';
import { displayName, readText } from '../../gateway/config/text-file.ts';
import { POLICY_FILE, YamlFile, type YamlKind } from '../../gateway/config/yaml/yaml-file.ts';
import { isRecord } from '../../gateway/core/is-record.ts';
import { compileSteps, type ReadStep, type StepContext } from './compile-steps.ts';
import {
  type Client,
  headersOf,
  type PolicyTest,
  type Setting,
  type TestFile,
} from './policy-test.ts';
import { stepSchema } from './step-schema.ts';
import {
  client,
  outlineSchema,
  sections,
  testOutlineSchema,
  type WrittenClient,
} from './test-file-schema.ts';
import type { PolicyFileReader, TestedPolicies, TestKeys } from './tested-policies.ts';

const TEST_FILE: YamlKind = {
  ...POLICY_FILE,
  name: 'a test file',
  needed: '"policies", "clients" and "tests"',
};

/**
 * Undefined if a policy file that it names has mistakes; the reader has them. Throws a FileError with every mistake of
 * the test file itself.
 */
export function readTestFile(path: string, policyFiles: PolicyFileReader): TestFile | undefined {
  const name = displayName(path);
  const yaml = new YamlFile(readText(path), name, TEST_FILE);
  yaml.refuseMistakes();
  const mistakes: DiagnosticDraft[] = [];
  const file = new TestFileReader({ path, yaml, policyFiles, mistakes }).read();
  if (mistakes.length > 0) throw new FileError(yaml.diagnostics(mistakes));
  return file;
}

interface Sources {
  readonly path: string;
  readonly yaml: YamlFile;
  readonly policyFiles: PolicyFileReader;
  readonly mistakes: DiagnosticDraft[];
}

class TestFileReader {
  readonly #sources: Sources;
  #keys: TestKeys = { sent: new Set(), listed: [] };

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** The result is incomplete if there are mistakes. */
  read(): TestFile | undefined {
    const { path, yaml } = this.#sources;
    const written = yaml.value;
    this.#parse(outlineSchema, written, []);
    if (!isRecord(written)) return undefined;
    const section = <S extends z.ZodType>(schema: S, key: string) =>
      this.#parse(schema, written[key], [key]);
    const clientEntries = isRecord(written.clients) ? Object.entries(written.clients) : [];
    if (!isRecord(written.clients)) section(sections.clients, 'clients');
    const clients = this.#clients(clientEntries);
    this.#keys = {
      sent: new Set(clients.flatMap(([, { api_key: id }]) => id ?? [])),
      listed: section(sections.api_keys, 'api_keys') ?? [],
    };
    const name = section(sections.policies, 'policies');
    const policies = name === undefined ? undefined : this.#policies(name, ['policies']);
    if (policies !== undefined) this.#checkKeys(clients, policies);
    const setting: Setting = {
      startMs: section(sections.start, 'start') ?? 0,
      proxy: section(sections.proxy, 'proxy') ?? '',
      proxyAddress: section(sections.proxy_address, 'proxy_address') ?? '',
      gateways: section(sections.gateways, 'gateways') ?? 1,
      clients: new Map(clients.map(([each, entry]) => [each, clientOf(entry)])),
    };
    const clientNames = clientEntries.map(([each]) => each);
    const tests = this.#tests(written.tests, { setting, clientNames, policies });
    return policies && { file: displayName(path), policies, setting, tests };
  }

  #clients(entries: readonly [string, unknown][]): [string, WrittenClient][] {
    return entries.flatMap(([name, entry]) => {
      const parsed = this.#parse(client, entry, ['clients', name]);
      return parsed === undefined ? [] : [[name, parsed] as [string, WrittenClient]];
    });
  }

  #checkKeys(clients: readonly [string, WrittenClient][], { set, file }: TestedPolicies): void {
    const ids = set.naming.apiKeys.map(({ id }) => id);
    for (const [name, { api_key: id }] of clients) {
      if (id === undefined || ids.includes(id)) continue;
      const path = ['clients', name, 'api_key'];
      const message = `is not the id of a key in ${file}, nor one under api_keys`;
      this.#report({ rule: 'invalid-value', path, message });
    }
  }

  #tests(written: unknown, facts: Omit<StepContext, 'readPolicies' | 'report'>): PolicyTest[] {
    if (!Array.isArray(written) || written.length === 0) {
      this.#parse(sections.tests, written, ['tests']);
      return [];
    }
    const names = new Set<string>();
    const context: StepContext = {
      ...facts,
      readPolicies: (name, path) => this.#policies(name, path),
      report: (mistake) => this.#report(mistake),
    };
    return written.flatMap((entry, i) => {
      const path = ['tests', i];
      const parsed = this.#parse(testOutlineSchema, entry, path);
      const steps = isRecord(entry) && Array.isArray(entry.steps) ? entry.steps : [];
      const compiled = compileSteps(this.#steps(steps, [...path, 'steps']), context);
      if (parsed === undefined) return [];
      const { name, skip } = parsed;
      if (names.has(name)) {
        const message = 'is the name of an earlier test, choose another';
        this.#report({ rule: 'invalid-value', path: [...path, 'name'], message });
      }
      names.add(name);
      return [{ name, skip, place: this.#placeOf(path), steps: compiled }];
    });
  }

  #steps(entries: readonly unknown[], path: Path): ReadStep[] {
    return entries.flatMap((entry, i) => {
      const at = [...path, i];
      const written = this.#parse(stepSchema, entry, at);
      if (written === undefined || !isRecord(entry)) return [];
      return [{ written, keys: Object.keys(entry), path: at, place: this.#placeOf(at) }];
    });
  }

  #policies(name: string, path: Path): TestedPolicies | undefined {
    try {
      const folder = dirname(this.#sources.path);
      return this.#sources.policyFiles.read(resolve(folder, name), this.#keys, folder);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#report({ rule: 'unreadable-file', path, message: error.message });
      return undefined;
    }
  }

  /** Reports mistakes; undefined if there are any. */
  #parse<S extends z.ZodType>(schema: S, value: unknown, at: Path): z.output<S> | undefined {
    const { mistakes, yaml } = this.#sources;
    return parsePart(schema, value, { at, yaml, mistakes });
  }

  #report(mistake: DiagnosticDraft): void {
    this.#sources.mistakes.push(mistake);
  }

  #placeOf(path: Path) {
    return this.#sources.yaml.placeOf(path);
  }
}

function clientOf({ address, peer = address, headers = {}, ...more }: WrittenClient): Client {
  const { api_key: apiKey, host, metadata } = more;
  return { address, peer, apiKey, headers: headersOf(headers, host), metadata };
}
