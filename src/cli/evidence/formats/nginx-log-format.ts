/** NGINX: an own `log_format`, given as a string on the command line. */
import { ConfigError } from '../../../gateway/config/config-error.ts';
import type { LogFormat } from './log-format.ts';
import { Layout } from './parts/layout.ts';
import { textFormat } from './parts/text-format.ts';

/** A whole directive, or what stands between its quotes; `escape=` may stand before it. */
const DIRECTIVE = /^\s*log_format\s+\S+\s+/;
const ESCAPE = /^\s*escape=(default|json|none)\s+/;

const STAMPS = ['msec', 'time_iso8601', 'time_local'];
const ADDRESSES = [
  'remote_addr',
  'realip_remote_addr',
  'proxy_add_x_forwarded_for',
  'http_x_forwarded_for',
];

/** Throws a ConfigError if the string has no time or no request. */
export function nginxLogFormat(name: string): LogFormat {
  const withoutName = name.replace(DIRECTIVE, '');
  const escapes = ESCAPE.exec(withoutName)?.[1] === 'none' ? 'none' : 'backslash';
  const source = unquoted(withoutName.replace(ESCAPE, ''));
  const names = new Set(new Layout(source, escapes).names);
  const mistakes = mistakesOf(names);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const addresses = ADDRESSES.filter((each) => names.has(each));
  return textFormat({
    name,
    title: 'NGINX, the given log_format',
    layouts: [source],
    escapes,
    stampIs: 'end',
    precisionMs: names.has('msec') ? 1 : 1000,
    address: addresses.length === 0 ? 'none' : `\`$${addresses[0]}\``,
    samples: [],
    notes: [],
  });
}

/** The texts of a directive: `'$a ' '$b';` is `$a $b`. */
function unquoted(text: string): string {
  if (!/^\s*'/.test(text)) return text;
  return [...text.matchAll(/'((?:[^'\\]|\\.)*)'/g)]
    .map(([, part = '']) => part.replace(/\\(['\\])/g, '$1'))
    .join('');
}

function mistakesOf(names: ReadonlySet<string>): string[] {
  const hasTarget = names.has('request_uri') || names.has('uri');
  return [
    ...(STAMPS.some((name) => names.has(name))
      ? []
      : ['--format: the log_format has no time; it needs $msec, $time_iso8601 or $time_local']),
    ...(names.has('request') || (names.has('request_method') && hasTarget)
      ? []
      : [
          '--format: the log_format has no request; it needs $request, or $request_method and $request_uri',
        ]),
  ];
}
