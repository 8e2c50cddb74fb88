/** Which header fields a request may have: https://www.rfc-editor.org/rfc/rfc9113#section-8.2 and section 8.3. */
import { MAX_FIELDS, MAX_HEADER_BYTES } from './limits.ts';
import { addHeader, newHeaders, type RequestHeaders } from './request-headers.ts';

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

const COLON = 0x3a;
const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;
/** Index: a byte of a name. */
const IS_NAME_BYTE = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") {
  IS_NAME_BYTE[character.charCodeAt(0)] = 1;
}

export type FieldMistake = 'malformed' | 'too large';

/** Collects the fields of one block at a time, of a request or of its trailers. */
export class FieldCollector {
  #headers = newHeaders();
  /** Of the list so far (section 6.5.2). */
  bytes = 0;
  #count = 0;
  #isTrailers = false;
  #hasRegular = false;
  #mistake: FieldMistake | undefined;

  begin(isTrailers: boolean): void {
    this.#headers = newHeaders();
    this.bytes = 0;
    this.#count = 0;
    this.#isTrailers = isTrailers;
    this.#hasRegular = false;
    this.#mistake = undefined;
  }

  /** After a mistake nothing is kept or looked at, so a block costs no more than its bytes. */
  add(name: string, value: string): void {
    if (this.#mistake !== undefined) return;
    this.bytes += name.length + value.length + FIELD_OVERHEAD_BYTES;
    if (this.bytes > MAX_HEADER_BYTES || ++this.#count > MAX_FIELDS) this.#mistake = 'too large';
    else if (this.#isAllowed(name, value)) addHeader(this.#headers, name, value);
    else this.#mistake = 'malformed';
  }

  end(): RequestHeaders | FieldMistake {
    if (this.#mistake !== undefined) return this.#mistake;
    return this.#isTrailers || isComplete(this.#headers) ? this.#headers : 'malformed';
  }

  #isAllowed(name: string, value: string): boolean {
    if (!isValue(value)) return false;
    if (name.charCodeAt(0) === COLON) {
      const isKnown = !this.#isTrailers && !this.#hasRegular && PSEUDO.has(name);
      return isKnown && this.#headers[name] === undefined;
    }
    this.#hasRegular = true;
    if (!isName(name) || CONNECTION_SPECIFIC.has(name)) return false;
    if (name === 'te') return value === 'trailers';
    return name !== 'content-length' || this.#isLength(value);
  }

  #isLength(value: string): boolean {
    const before = this.#headers['content-length'];
    return /^\d{1,15}$/.test(value) && (before === undefined || before === value);
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

function isName(name: string): boolean {
  if (name.length === 0) return false;
  for (let i = 0; i < name.length; i++) {
    if (IS_NAME_BYTE[name.charCodeAt(i)] !== 1) return false;
  }
  return true;
}

/**
 * No control characters, and no blanks at an end (section 8.2.1). `:authority` needs no more than that either: Envoy sends
 * the name of the cluster there unless its configuration sets `authority`, and Istio names clusters
 * "outbound|8081||ratelimit.default.svc.cluster.local", which is no host name.
 */
function isValue(value: string): boolean {
  const { length } = value;
  if (length === 0) return true;
  if (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(length - 1))) return false;
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if ((code < SPACE && code !== TAB) || code === DELETE) return false;
  }
  return true;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
