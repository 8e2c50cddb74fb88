/** The reference of what `headgate check` finds, in Markdown. */
import { RULES, type RuleText, type Severity } from '../rules.ts';

const SECTIONS: Readonly<Record<Severity, string>> = {
  error: 'Errors: loading refuses the file (exit code 3)',
  warning: 'Warnings: likely not what its author thinks it is (exit code 3 with `--strict`)',
  info: 'Notes: good to know',
};

export function checkDocument(): string {
  const sections = (['error', 'warning', 'info'] as const).map(
    (severity) => `## ${SECTIONS[severity]}\n\n${tableOf(severity)}`,
  );
  return [INTRODUCTION, ...sections].join('\n');
}

function tableOf(severity: Severity): string {
  const rules: [string, RuleText][] = Object.entries(RULES);
  const rows = rules
    .filter(([, text]) => text.severity === severity)
    .map(([rule, { meaning, remedy }]) => `| \`${rule}\` | ${meaning} | ${remedy} |\n`);
  return `| rule | means | remedy |\n| --- | --- | --- |\n${rows.join('')}`;
}

const INTRODUCTION = `# What \`headgate check\` finds

\`headgate check FILE...\` says all that loading a policy file would refuse, and what its author likely did not mean. \`-\` is standard input; without a file, the one that \`serve\` reads is checked. The list of Cloudflare's networks is the one that \`HEADGATE_CLOUDFLARE_RANGES\` names.

| option | prints |
| --- | --- |
| none | \`file:line:column: severity rule: path: message\` for each finding, its line with a caret below the place, and a line for each file |
| \`-o json\` | one document: \`{ "files": [{ "file", "valid", "policies", "findings": [{ "rule", "severity", "file", "line", "column", "path", "message" }] }], "errors", "warnings" }\` |
| \`-o github\` | commands by which GitHub Actions annotates lines |
| \`--rules\` | this page, which \`npm run docs\` writes |

Lines and columns are counted from 1; 1:1 also stands for the file as a whole. \`policies\` counts the default as well, and is \`null\` for a file that is not valid. A finding may be in another file: that of the keys.

Exit codes: 0 fine, also with warnings; 2 usage; 3 a file is not valid or, with \`--strict\`, has warnings.
`;
