/** docs/log-formats.md, made from the formats of access logs. */
import { FORMATS } from '../../src/cli/evidence/formats/index.ts';
import type { LogFormat } from '../../src/cli/evidence/formats/log-format.ts';
import { code, fenced, table } from './markdown.ts';

const HEAD = `# Log formats

headgate reads the access logs of proxies, to say what a policy file would have done with the requests in them.

## Give it logs

- Files, several at once, in any order: \`access.log access.log.1 access.log.2.gz\`. They must have one format. headgate sorts them by their time.
- gzip and zstd are recognised by their content, not by the name.
- \`-\` is standard input, compressed or not: \`kubectl logs deploy/proxy | headgate ... -\`.
- What surrounds the lines is taken off: \`docker compose logs\` (\`caddy-1  | \`), the \`json-file\` of Docker, files of containerd and CRI-O (\`... stdout F \`), syslog (\`Jan  5 10:20:30 host haproxy[12]: \`).

Lines that are not understood are counted, and the first ten are shown with the field that failed. Lines without an HTTP request, such as a TLS handshake on a plain port, are counted by themselves. A stamp before 1990 or after 2099, hours after or years from those of the lines around it, is not understood.

headgate warns if it has hardly understood the columns: all requests come from one client although the lines have many other addresses, or no host can be one.

## Choose the format

| option | meaning |
| --- | --- |
| \`--format auto\` | The default: the format that understands most of the first 1,000 lines (of 64 KB), and finds most clients in them. headgate says which it took and why. |
| \`--format NAME\` | One of the formats below. |
| \`--format '$remote_addr ...'\` | An NGINX \`log_format\`: the text between its quotes, or the whole directive. |
| \`--tz ZONE\` | The time zone of stamps without one, as in \`Europe/Berlin\`. Hours that daylight saving time repeats or leaves out are handled. |
| \`--time-is start\\|end\` | What the stamp of a line means, if the format is wrong about it. |
| \`--map api_key=FIELD\`, \`--map user=FIELD\`, \`--map plan=FIELD\` | The field of a line that has the API key, the user or the plan: a path such as \`request.headers.X-Api-Key\` in JSON, a variable such as \`$http_x_api_key\` of NGINX, \`capture.request.0\` of HAProxy. |
| \`--map header:NAME=FIELD\` | The field that has a header. Policies for MCP calls need \`mcp-method\`, \`mcp-name\` and \`mcp-protocol-version\`: without them, every call counts as one without headers (\`none\`). |

### An NGINX log_format

\`\`\`sh
--format '$remote_addr [$time_iso8601] $msec $request_time "$request" $status $host "$http_x_api_key"'
\`\`\`

- The time: \`$msec\`, \`$time_iso8601\` or \`$time_local\`, minus \`$request_time\`. Only \`$msec\` has milliseconds.
- The request: \`$request\`, or \`$request_method\` and \`$request_uri\`.
- The address: \`$remote_addr\`, \`$realip_remote_addr\`, or the last entry of \`$proxy_add_x_forwarded_for\` or \`$http_x_forwarded_for\`. If the text begins with \`$http_x_forwarded_for\`, its last entry is the client, and \`$remote_addr\` the load balancer.
- If they are there: \`$host\` or \`$http_host\`, \`$status\`, \`$http_user_agent\`, and any \`$http_NAME\` for \`--map\`.
- Values are read as \`escape=default\` and \`escape=json\` write them. With \`escape=none\` in NGINX, write \`escape=none \` before the text.
- If the log_format is JSON, \`--format auto\` often knows its keys: see [nginx-json](#nginx-json).

## What a stamp means

A limit counts a request at its start. Some logs have the end, and no duration: then a request that took long is counted late.
Where stamps have whole seconds, limits with windows below 10 seconds cannot be judged exactly.
`;

export function logFormatReference(): string {
  return [
    HEAD,
    '## Formats\n',
    table(
      ['format', 'of', 'time of a request', 'precision', 'address'],
      FORMATS.map(({ name, title, address, precisionMs, ...format }) => [
        `[${code(name)}](#${name})`,
        title,
        timeOf(format),
        precisionOf(precisionMs),
        address,
      ]),
    ),
    ...FORMATS.map(sectionOf),
  ].join('\n');
}

function timeOf({ timeIs, lacksZone }: Pick<LogFormat, 'timeIs' | 'lacksZone'>): string {
  return `${timeIs}${lacksZone ? ', local time' : ''}`;
}

function precisionOf(ms: number): string {
  if (ms >= 1000) return '1 s';
  return ms >= 1 ? '1 ms' : '1 us';
}

function sectionOf({ name, title, notes, samples }: LogFormat): string {
  const list = notes.map((note) => `- ${note}\n`).join('');
  return `### ${name}\n\n${title}:\n\n${fenced(name.endsWith('-json') ? 'json' : 'text', samples[0] ?? '')}\n${list}`;
}
