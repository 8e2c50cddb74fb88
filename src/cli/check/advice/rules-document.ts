/** Writes `docs/check.md`: the reference of the rules of `headgate check`. */
import { RULES } from '../../../gateway/config/diagnostic.ts';

const SECTIONS = {
  error: 'Errors: the file is not loaded (exit code 3)',
  warning: 'Warnings: probably not what the author meant (exit code 3 with `--strict`)',
  info: 'Notes: good to know (exit code 0)',
};

export function checkDocument(): string {
  const sections = Object.entries(SECTIONS).map(
    ([severity, title]) => `## ${title}\n\n${ruleTable(RULES, severity, HEAD)}`,
  );
  return [INTRODUCTION, ...sections].join('\n');
}

const HEAD = '| rule | meaning | remedy |';

type Rules = Readonly<Record<string, Readonly<Record<'severity' | 'meaning' | 'remedy', string>>>>;

/** The rules of one severity as a table of Markdown. */
export function ruleTable(rules: Rules, severity: string, head: string): string {
  const rows = Object.entries(rules)
    .filter(([, text]) => text.severity === severity)
    .map(([id, { meaning, remedy }]) => `| \`${id}\` | ${cell(meaning)} | ${cell(remedy)} |\n`);
  return `${head}\n| --- | --- | --- |\n${rows.join('')}`;
}

/** A bar would end the cell, also between backticks. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

const INTRODUCTION = `# Rules of \`headgate check\`

\`headgate check FILE...\` reports every mistake that keeps a policy file from being loaded, and what its author probably did not mean. It checks [rate limit files](ratelimit-config.md) too: a file with \`domain\` or \`descriptors\` and without \`version\`, \`policies\` and \`default\`, or a directory of such files. Those of one command are checked together. \`-\` is standard input. Without a file, it checks the file that \`serve\` reads. It uses the list of Cloudflare networks that \`HEADGATE_CLOUDFLARE_RANGES\` names.

| option | output |
| --- | --- |
| none | \`file:line:column: severity rule: path: message\` for each finding, then the line with a caret below the place; at the end one line for each file |
| \`-o json\` | one document: \`{ "files": [{ "file", "valid", "policies", "findings": [{ "rule", "severity", "file", "line", "column", "path", "message" }] }], "errors", "warnings" }\` |
| \`-o github\` | workflow commands, by which GitHub Actions annotates the lines |
| \`--merge-domains\` | as without it, but rate limit files may share a domain, as with \`MERGE_DOMAIN_CONFIG\` of envoyproxy/ratelimit |
| \`--rules\` | this page |

Lines and columns count from 1. If a finding is about the whole file, its place is 1:1. \`policies\` includes the default; it is \`null\` if the file is invalid. A valid rate limit file has \`limits\`, their number, and \`null\` for \`policies\`. A finding may be in another file, such as the key file.

Exit codes: 0 fine, warnings included; 2 usage; 3 a file is invalid or, with \`--strict\`, has warnings.
`;
