/** docs/configuration.md, made from the settings and from the schema of policy files. */
import { SETTINGS, type Setting, TOPICS } from '../../src/config/settings/settings.ts';
import { code, prose, table } from './markdown.ts';
import { policyReference } from './policy-file.ts';

const HEAD = `# Configuration

headgate is told what to do in two places: **settings**, environment variables that say where a gateway listens, where it counts and whom it trusts; and a **policy file**, which says who is limited to what.
A gateway starts without either: [\`config/policies.yaml\`](../config/policies.yaml) is served on \`127.0.0.1:8080\`, counted in memory.

## What comes first

1. An option of the [command](commands.md): \`--policies FILE\`.
2. The environment: \`HEADGATE_POLICIES=FILE\`. A variable that is empty counts as not set.
3. The default.

No key of the policy file is a setting as well. In it, what a policy says comes before what the file says for all, and that before the default of the key.

Settings are read once, when a process starts. The policy file is read again whenever it changes.
With a mistake in either nothing starts: every mistake is listed, and the [exit code](commands.md#exit-codes) is 3. A setting that is misspelled is a mistake, too. What Kubernetes sets for a Service called headgate, such as \`HEADGATE_PORT=tcp://10.0.0.1:8080\`, is none, and is not read.

## Settings
`;

const POLICY_FILE = `## The policy file

YAML 1.2. [The README](../README.md#the-policy-file) explains it with examples; here is each key, map by map. \`[]\` stands for each entry of a list.

A key that is not required may be left out: then its default holds. A key that is not known is a mistake.
\`headgate check FILE\` finds mistakes and what is likely not meant, by [these rules](check.md). [\`config/policies.schema.json\`](../config/policies.schema.json) gives editors the same descriptions:

\`\`\`yaml
# yaml-language-server: $schema=./policies.schema.json
\`\`\`
`;

export function configurationReference(): string {
  const settings: readonly Setting[] = Object.values(SETTINGS);
  const topics = Object.entries(TOPICS).flatMap(([topic, title]) => [
    `### ${title}\n`,
    table(
      ['setting', 'takes', 'default', 'is'],
      settings.filter((each) => each.topic === topic).map(rowOf),
    ),
  ]);
  return [HEAD, ...topics, POLICY_FILE, policyReference()].join('\n');
}

function rowOf(setting: Setting): string[] {
  const { name, otherName, expected, fallback, fallbackWords, meaning, isSecret } = setting;
  return [
    otherName === undefined ? code(name) : `${code(name)}, else ${code(otherName)}`,
    prose(expected),
    fallbackWords ?? code(String(fallback)),
    isSecret ? `${meaning} A secret: what is set is not repeated anywhere.` : meaning,
  ];
}
