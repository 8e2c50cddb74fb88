/** The request line, and targets of the absolute form. */

const METHOD = /^[A-Za-z][A-Za-z-]{0,31}$/;
export const COMMON_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'POST',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
]);
const DEFAULT_PORT = /^(.*):(?:80|443)$/;

export interface RequestTarget {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

/** Of `GET /path HTTP/1.1`; undefined if the text is no request. A target may have spaces, as some clients send them. */
export function requestOf(line: string): RequestTarget | undefined {
  const afterMethod = line.indexOf(' ');
  if (afterMethod < 0) return undefined;
  const last = line.lastIndexOf(' ');
  const end = last > afterMethod && line.startsWith('HTTP/', last + 1) ? last : line.length;
  return targetOf(line.slice(0, afterMethod), line.slice(afterMethod + 1, end));
}

export function targetOf(method: string, target: string): RequestTarget | undefined {
  if (!(COMMON_METHODS.has(method) || METHOD.test(method))) return undefined;
  if (target.charCodeAt(0) === 47) return { method, target, host: undefined };
  if (target === '' || target === '-') return undefined;
  const scheme = target.indexOf('://');
  if (scheme <= 0 || scheme > 5) return { method, target, host: undefined };
  const rest = target.slice(scheme + 3);
  const path = rest.search(/[/?]/);
  const host = path < 0 ? rest : rest.slice(0, path);
  const written = path < 0 ? '/' : rest.slice(path);
  return {
    method,
    target: written.startsWith('?') ? `/${written}` : written,
    host: withoutDefaultPort(host),
  };
}

/** Logs write the port even where the client did not. */
export function withoutDefaultPort<Host extends string | undefined>(host: Host): Host | string {
  return host === undefined ? host : (DEFAULT_PORT.exec(host)?.[1] ?? host);
}
