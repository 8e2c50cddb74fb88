/**
 * Real configurations of other rate limiters, each with the policy file and the findings that `headgate import` makes of
 * it. `npx vitest run -u --project unit test/unit/cli/import/fixtures.test.ts` writes them again.
 */
import { readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findingLine } from '../../../../src/cli/import/import-source.ts';
import { IMPORT_KINDS } from '../../../../src/cli/import/kinds.ts';
import { IMPORTS, importFile, problemsOf } from '../../../support/imports.ts';

const INPUT = /\.(conf|yml)$/;

describe.each(IMPORT_KINDS)('%s', (kind) => {
  const folder = join(IMPORTS, kind);
  const names = readdirSync(folder).filter((name) => INPUT.test(name));

  test('has fixtures', () => {
    expect(names.length).toBeGreaterThan(2);
  });

  test.each(names)('%s', async (name) => {
    const { text, findings } = importFile(kind, join(folder, name));
    const path = join(folder, name.slice(0, -extname(name).length));
    const lines = findings.map((finding) => `${findingLine(finding)}\n`).join('');
    expect(problemsOf(text)).toEqual([]);
    await expect(text).toMatchFileSnapshot(`${path}.yaml`);
    await expect(lines).toMatchFileSnapshot(`${path}.txt`);
  });
});
