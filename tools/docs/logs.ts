/** docs/logs.md, made from the catalogue of log lines. */
import { pino } from 'pino';
import { LOG_LINES, type LogLine } from '../../src/telemetry/log-lines.ts';
import { code, table } from './markdown.ts';

/** What the sixth login of the README writes. */
export const EXAMPLE =
  '{"level":30,"time":1795307291379,"event":"denied","decision_id":"97a8074ad655-1","policy":"login","limit":"login","reason":"over_limit","mode":"enforced","identity":"api_key","client":"k.K9gGyX8OAK8aH8Myj6djqS","retry_after_ms":299955,"dialect":"envoy","duration_ms":1.574,"suppressed":0,"msg":"a request was denied"}';

export const LINES: readonly (readonly [string, LogLine])[] = Object.entries(LOG_LINES);

const EVENT_COLUMNS = [
  'event',
  'level',
  'message',
  'what it means, what to do',
  'at most',
  'runbook',
];

const HEAD = `# Log

What the gateway writes to standard output: a line of JSON for each event.
The text that it prints once it answers is there, too; lines of the log begin with \`{\`.
What keeps it from starting is text on standard error.
\`HEADGATE_LOG_LEVEL\` (\`info\`) is the lowest level that is written; [metrics](metrics.md) count either way.

\`\`\`json
${EXAMPLE}
\`\`\`
`;

const PROMISES = `## Promises

- No address, key, user, query string or secret is in any line: [\`privacy.test.ts\`](../test/integration/privacy.test.ts) looks for a thousand of them. What \`mistakes\` and notes quote is from your own files.
- Of one client, denied by one policy for one reason, there is a line a second at most; \`suppressed\` counts the others. With tens of thousands of these at once it may be more.
- What would be told with every request is told once a minute at most: the column above. Each worker counts for itself.
- No request waits for the log. What is not written yet at the end is written then; who kills the process (SIGKILL) loses it.
`;

/** A test runs them. */
const COMMANDS = `## Finding things

Where \`headgate.log\` is the log. A denial, by the id that its client was told; one that was left out (\`suppressed\`) has no line:

\`\`\`sh
grep '"decision_id":"97a8074ad655-' headgate.log
\`\`\`

The last warnings and errors:

\`\`\`sh
grep -E '^\\{"level":(40|50|60),' headgate.log | tail
\`\`\`

Which events there are, and how often:

\`\`\`sh
grep -o '"event":"[a-z_]*"' headgate.log | sort | uniq -c | sort -rn
\`\`\`
`;

export function logReference(): string {
  const sections = [
    HEAD,
    '## Every line\n',
    table(
      ['field', 'is'],
      [
        ['`level`', levels()],
        ['`time`', 'milliseconds since the epoch'],
        ['`worker`', 'which of several workers, from 0; absent with one, and of their supervisor'],
        ['`event`', 'what happened, see below'],
        ['`msg`', 'the same for a reader; do not search for it'],
      ],
    ),
    '## Events\n',
    table(EVENT_COLUMNS, LINES.map(rowOf)),
    '## Their fields\n',
    ...LINES.filter(([, { fields }]) => Object.keys(fields).length > 0).map(fieldsOf),
    PROMISES,
    COMMANDS,
  ];
  return sections.join('\n');
}

function levels(): string {
  const used = new Set(LINES.map(([, { level }]) => level));
  return Object.entries(pino.levels.values)
    .filter(([name]) => used.has(name as LogLine['level']))
    .map(([name, number]) => `${code(String(number))} ${name}`)
    .join(', ');
}

function rowOf([event, line]: readonly [string, LogLine]): string[] {
  const { level, message = '*each its own*', meaning = '', atMost = '', runbook } = line;
  const link = runbook === undefined ? '' : `[${runbook}](runbooks/${runbook}.md)`;
  return [code(event), level, message, meaning, atMost, link];
}

function fieldsOf([event, { fields }]: readonly [string, LogLine]): string {
  const rows = Object.entries(fields).map(([name, meaning]) => [code(name), meaning]);
  return `### ${code(event)}\n\n${table(['field', 'is'], rows)}`;
}
