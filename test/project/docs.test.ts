/** The pages of docs/ that are made from the program itself: they are up to date, and their links and examples work. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
import { validatePolicyFile } from '../../src/gateway/config/policy-file/validate.ts';
import { SETTINGS } from '../../src/gateway/config/settings/settings.ts';
import { YamlFile } from '../../src/gateway/config/yaml/yaml-file.ts';
import { commandReference } from '../../tools/docs/commands.ts';
import { configurationReference } from '../../tools/docs/configuration.ts';
import { PAGES, pageFile } from '../../tools/docs/pages.ts';
import { policyFileContext } from '../support/policies.ts';

const read = (file: URL) => readFileSync(file, 'utf8');

describe('docs/', () => {
  test.each(Object.entries(PAGES))('%s.md is up to date (else: npm run docs)', (name, page) => {
    // Elsewhere the runtime measures less of the process.
    if (name === 'metrics' && process.platform !== 'linux') return;
    expect(read(pageFile(name))).toBe(page());
  });
});

describe.each([
  ['configuration.md', configurationReference()],
  ['commands.md', commandReference(await createProgram())],
])('the links of docs/%s', (_name, text) => {
  test('within the page lead to a heading of their own', () => {
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slug(heading));
    expect(headings.filter((each, i) => headings.indexOf(each) !== i)).toEqual([]);
    for (const [, anchor] of text.matchAll(/\]\(#([^)]*)\)/g)) expect(headings).toContain(anchor);
  });
  test('to other files lead to headings that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)(?:#([^)]*))?\)/g)];
    expect(links.length).toBeGreaterThan(3);
    for (const [, path = '', anchor] of links) {
      const target = read(new URL(path, pageFile('configuration')));
      if (anchor === undefined) continue;
      const headings = [...target.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slug(heading));
      expect(headings, path).toContain(anchor);
    }
  });
});

test('every setting has one row', () => {
  const page = read(pageFile('configuration'));
  for (const { name, meaning } of SETTINGS) {
    const rows = page.split('\n').filter((line) => line.startsWith(`| \`${name}\``));
    expect(rows, name).toHaveLength(1);
    expect(rows[0]).toContain(meaning);
  }
});

const examples = [...read(pageFile('configuration')).matchAll(/```yaml\n(\w[\s\S]*?)```/g)].map(
  ([, text = '']) => text,
);

test('there are examples of the policy file', () => {
  expect(examples.length).toBeGreaterThan(10);
});

test.each(examples)('is a valid part of a policy file:\n%s', (example) => {
  const file = {
    version: 1,
    default: { limits: ['1000/1h'] },
    ...(new YamlFile(example, 'example').value as object),
  };
  const mistakesOf = () => validatePolicyFile(stringify(file), 'example.yaml', policyFileContext());
  expect(mistakesOf).not.toThrow();
});

test('commands of any depth have a section each', () => {
  const block = new Command('block')
    .description('keep a client out')
    .argument('<client>', 'whom')
    .argument('[hours]', 'how long', '1')
    .requiredOption('--reason <text>', 'why, for a <human>');
  const program = new Command('headgate').addCommand(
    new Command('clients')
      .description('clients')
      .addCommand(new Command('list').description('lists').addCommand(block)),
  );
  const page = commandReference(program);
  expect(page).toContain(`## headgate clients list block

Keep a client out.

\`\`\`sh
headgate clients list block --reason <text> <client> [hours]
\`\`\`

| argument | meaning | default |
| --- | --- | --- |
| \`client\` | whom | **required** |
| \`hours\` | how long | \`1\` |

| option | meaning | default |
| --- | --- | --- |
| \`--reason <text>\` | why, for a \\<human> | **required** |
`);
  expect(page).toContain(
    '\n| [`headgate clients list block`](#headgate-clients-list-block) | keep a client out |\n',
  );
  expect(page).toContain('\n- [`headgate clients list`](#headgate-clients-list): lists\n');
});

/** GitHub's anchor of a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
