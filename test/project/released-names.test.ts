/**
 * Names that users depend on do not change without notice. The fixture has those of the last release.
 * New names are allowed. To add them to the fixture at a release: UPDATE_NAMES=1 npx vitest run test/project/released-names.test.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { examinePolicies } from '../../src/cli/check/advice/examine-policies.ts';
import { DIAGNOSTIC_FORMS } from '../../src/cli/output/diagnostics.ts';
import { SHIPPED_RANGES } from '../../src/gateway/config/shipped-files.ts';
import { readText } from '../../src/gateway/config/text-file.ts';
import { fieldsOf, type Names, namesOf, sorted } from './released-names.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FIXTURE = new URL('../fixtures/released-names.json', import.meta.url);

const released: Names = JSON.parse(readFileSync(FIXTURE, 'utf8'));
const names: Names = { ...namesOf(ROOT), 'check -o json': checkJsonFields() };

/** The fields that the document has for an invalid file and for a valid one. */
function checkJsonFields(): string[] {
  const texts: Readonly<Record<string, string>> = {
    'invalid.yaml': 'version: 2',
    'valid.yaml': 'version: 1\ndefault: { limits: [1/1s] }',
  };
  const read = (path: string) => texts[path] ?? readText(path);
  const files = Object.keys(texts).map((policies) =>
    examinePolicies({ policies, cloudflareRanges: SHIPPED_RANGES }, Date.now(), read),
  );
  return fieldsOf(JSON.parse(DIAGNOSTIC_FORMS.json(files)));
}

test('the fixture has names of every kind', () => {
  expect(Object.keys(released)).toEqual(expect.arrayContaining(Object.keys(names)));
  for (const [kind, known] of Object.entries(released)) {
    expect(known.length, kind).toBeGreaterThan(2);
  }
});

test.each(Object.entries(released))('%s keep their released names', (kind, known) => {
  const missing = known.filter((name) => !names[kind]?.includes(name));
  expect(missing, remedyFor(kind, missing)).toEqual([]);
});

function remedyFor(kind: string, missing: readonly string[]): string {
  return `Users depend on these ${kind}, and they are gone: ${missing.join(', ')}.
Bring them back. If they must go: let the old name go on working beside the new one, note the change and how to go on in CHANGELOG.md, and remove the old name from test/fixtures/released-names.json.
If only the layout of a generated page changed, correct how test/project/released-names.ts reads it.`;
}

if (process.env.UPDATE_NAMES) addNewNames();

function addNewNames(): void {
  test('new names are added to the fixture', ({ annotate }) => {
    const kinds = Object.keys({ ...released, ...names });
    const both = (kind: string) => sorted([...(released[kind] ?? []), ...(names[kind] ?? [])]);
    const updated = Object.fromEntries(kinds.map((kind) => [kind, both(kind)]));
    const added = kinds.flatMap((kind) =>
      (names[kind] ?? []).filter((name) => !released[kind]?.includes(name)),
    );
    writeFileSync(FIXTURE, `${JSON.stringify(updated, null, 2)}\n`);
    return annotate(added.length === 0 ? 'no new names' : `new names: ${added.join(', ')}`);
  });
}
