/** Which header fields a request may have: https://www.rfc-editor.org/rfc/rfc9113#section-8.2 and section 8.3. */
import { ErrorCode } from './frames.ts';
import { MAX_FIELDS, MAX_HEADER_BYTES } from './limits.ts';

/** It has no prototype. Repeated headers are joined in the way of Node's HTTP/2 server. */
export type RequestHeaders = Readonly<Fields>;

/** Section 6.5.2. */
const FIELD_OVERHEAD_BYTES = 32;

/** They are about one connection of HTTP/1 (section 8.2.2). */
const CONNECTION_SPECIFIC = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
const PSEUDO = new Set([':method', ':scheme', ':path', ':authority']);

/** Of these, the first value is kept. */
const SINGLE = new Set(
  `authorization content-encoding content-language content-length content-location content-md5 content-range content-type
  date dnt etag expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified
  location max-forwards proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent
  access-control-request-method`.split(/\s+/),
);

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/**
 * No control characters, and no blanks at an end (section 8.2.1). `:authority` needs no more than that either: Envoy sends
 * the name of the cluster there unless its configuration sets `authority`, and Istio names clusters
 * "outbound|8081||ratelimit.default.svc.cluster.local", which is no host name.
 */
const VALUE = /^(?![\t ])[\t -~\x80-\xff]*(?<![\t ])$/;

/** The largest has 15 digits, so that numbers are exact. */
const LENGTH = /^\d{1,15}$/;

/** Objects of a class stay fast as they grow, those without a prototype do not. This prototype has nothing in it. */
class Fields {
  [name: string]: string | string[] | undefined;
}
Reflect.deleteProperty(Fields.prototype, 'constructor');
Object.setPrototypeOf(Fields.prototype, null);

/** Collects the fields of one block at a time, of a request or of its trailers. */
export class FieldCollector {
  headers: Fields = new Fields();
  /** Of the list so far (section 6.5.2). */
  bytes = 0;
  #count = 0;
  #isTrailers = false;
  #hasRegular = false;
  #mistake: number = ErrorCode.none;

  begin(isTrailers: boolean): void {
    this.headers = new Fields();
    this.bytes = 0;
    this.#count = 0;
    this.#isTrailers = isTrailers;
    this.#hasRegular = false;
    this.#mistake = ErrorCode.none;
  }

  /** After a mistake nothing is kept or looked at, so a block costs no more than its bytes. */
  readonly add = (name: string, value: string): void => {
    if (this.#mistake !== ErrorCode.none) return;
    this.bytes += name.length + value.length + FIELD_OVERHEAD_BYTES;
    const isTooLarge = this.bytes > MAX_HEADER_BYTES || ++this.#count > MAX_FIELDS;
    if (isTooLarge) this.#mistake = ErrorCode.enhanceYourCalm;
    else if (this.#isAllowed(name, value)) addHeader(this.headers, name, value);
    else this.#mistake = ErrorCode.protocol;
  };

  /** Returns what is wrong with the block. */
  end(): number {
    const isMissing = !this.#isTrailers && !isComplete(this.headers);
    return this.#mistake === ErrorCode.none && isMissing ? ErrorCode.protocol : this.#mistake;
  }

  #isAllowed(name: string, value: string): boolean {
    if (!VALUE.test(value)) return false;
    if (name.startsWith(':')) {
      const isKnown = !this.#isTrailers && !this.#hasRegular && PSEUDO.has(name);
      return isKnown && this.headers[name] === undefined;
    }
    this.#hasRegular = true;
    if (!NAME.test(name) || CONNECTION_SPECIFIC.has(name)) return false;
    if (name === 'te') return value === 'trailers';
    if (name !== 'content-length') return true;
    return LENGTH.test(value) && (this.headers[name] ?? value) === value;
  }
}

/** Section 8.3.1. */
function isComplete(headers: RequestHeaders): boolean {
  const { ':method': method, ':scheme': scheme, ':path': path } = headers;
  if (method === 'CONNECT') {
    return scheme === undefined && path === undefined && headers[':authority'] !== undefined;
  }
  return Boolean(method) && Boolean(scheme) && Boolean(path);
}

function addHeader(headers: Fields, name: string, value: string): void {
  const before = headers[name];
  if (name === 'set-cookie') headers[name] = Array.isArray(before) ? [...before, value] : [value];
  else if (before === undefined) headers[name] = value;
  else if (!SINGLE.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
}
