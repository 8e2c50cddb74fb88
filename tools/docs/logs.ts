/** docs/logs.md, made from the catalogue of log lines. */
import { pino } from 'pino';
import type { LogLine } from '../../src/gateway/telemetry/log/log-line.ts';
import { LOG_LINES } from '../../src/gateway/telemetry/log-lines.ts';
import { code, table } from './markdown.ts';

/** The line of the sixth login in the README. */
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

The gateway writes its log to standard output, one line of JSON for each event.
When it starts to answer, it also prints a short text there; lines of the log begin with \`{\`.
If it cannot start, it prints the reason as text to standard error.
\`HEADGATE_LOG_LEVEL\` (default \`info\`) is the minimum level. [Metrics](metrics.md) count at every level.

\`\`\`json
${EXAMPLE}
\`\`\`
`;

const PROMISES = `## Promises

- No line contains an address, key, user, query string or secret: [\`privacy.test.ts\`](../test/integration/privacy.test.ts) looks for a thousand of them. \`mistakes\` and notes quote only your own files.
- A client has at most one line a second for each policy and reason; \`suppressed\` counts the other denials. If tens of thousands of clients are denied at the same time, it may be more lines.
- Events that could happen with every request are logged once a minute at most, see the column \`at most\`. Each worker has its own limit.
- No request waits for the log. Lines that are left when the gateway stops are written then. After SIGKILL they are lost.
`;

/** A test runs them. */
const COMMANDS = `## Finding things

The commands read the log from \`headgate.log\`. A denial, by the decision id that the client got; a denial that was not logged (\`suppressed\`) has no line:

\`\`\`sh
grep '"decision_id":"97a8074ad655-' headgate.log
\`\`\`

The last warnings and errors:

\`\`\`sh
grep -E '^\\{"level":(40|50|60),' headgate.log | tail
\`\`\`

How often each event happened:

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
        [
          '`worker`',
          'the number of the worker, from 0; absent if there is only one process, and for the supervisor',
        ],
        ['`event`', 'the name of the event, see below'],
        ['`msg`', 'the event in words; search for `event` instead, because the words may change'],
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
  const { level, message = '*differs*', meaning = '', atMost = '', runbook } = line;
  const link = runbook === undefined ? '' : `[${runbook}](runbooks/${runbook}.md)`;
  return [code(event), level, message, meaning, atMost, link];
}

function fieldsOf([event, { fields }]: readonly [string, LogLine]): string {
  const rows = Object.entries(fields).map(([name, meaning]) => [code(name), meaning]);
  return `### ${code(event)}\n\n${table(['field', 'is'], rows)}`;
}
