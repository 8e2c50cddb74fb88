/** docs/configuration.md, made from the settings and from the schema of policy files. */
import type { Setting } from '../../src/gateway/config/settings/setting.ts';
import { TOPICS } from '../../src/gateway/config/settings/settings.ts';
import { code, prose, table } from './markdown.ts';
import { policyReference } from './policy-file.ts';

const HEAD = `# Configuration

headgate has two kinds of configuration. **Settings** are environment variables: ports, Redis, secrets. The **policy file** holds the limits.
Both are optional. By default headgate serves [\`config/policies.yaml\`](../config/policies.yaml) on \`127.0.0.1:8080\` and counts in memory.

## Precedence

The first of these that is set applies:

1. An option of the [command](commands.md): \`--policies FILE\`.
2. The environment: \`HEADGATE_POLICIES=FILE\`. An empty variable counts as not set.
3. The default.

No key of the policy file is also a setting. In the policy file, a key of a policy wins over the same key at the top of the file, and that wins over the default of the key.

headgate reads settings once, when a process starts. It reads the policy file again whenever the file changes.
If there is a mistake in either, headgate does not start. It lists every mistake and exits with [code](commands.md#exit-codes) 3. A misspelled setting is a mistake too. headgate ignores the variables that Kubernetes sets for a Service called headgate, such as \`HEADGATE_PORT=tcp://10.0.0.1:8080\`.

## Settings
`;

const POLICY_FILE = `## The policy file

The policy file is YAML 1.2. [The policy file](policy-file.md) explains it with examples. This page lists every key, map by map. \`[]\` stands for each entry of a list.

If a key is left out, its default applies. An unknown key is a mistake.
\`headgate check FILE\` reports mistakes, and what you probably did not mean, by [these rules](check.md). [\`config/policies.schema.json\`](../config/policies.schema.json) gives editors the same descriptions:

\`\`\`yaml
# yaml-language-server: $schema=./policies.schema.json
\`\`\`
`;

export function configurationReference(): string {
  const topics = Object.entries(TOPICS).flatMap(([title, settings]) => [
    `### ${title}\n`,
    table(['setting', 'value', 'default', 'meaning'], settings.map(rowOf)),
  ]);
  return [HEAD, ...topics, POLICY_FILE, policyReference()].join('\n');
}

function rowOf(setting: Setting): string[] {
  const { name, otherName, expected, fallback, fallbackWords, meaning, isSecret } = setting;
  return [
    otherName === undefined ? code(name) : `${code(name)}, else ${code(otherName)}`,
    prose(expected),
    fallbackWords ?? code(String(fallback)),
    isSecret ? `${meaning} This is a secret: headgate never prints it.` : meaning,
  ];
}
