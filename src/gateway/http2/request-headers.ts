/** The headers of a request as an object, with repeated ones joined in the way of Node's HTTP/2 server. */

/** It has no prototype. */
export type RequestHeaders = Readonly<HeaderObject>;

type HeaderObject = Record<string, string | string[] | undefined>;

/** Of these, the first value is kept. */
const SINGLE = new Set(
  `authorization content-encoding content-language content-length content-location content-md5 content-range content-type
  date dnt etag expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified
  location max-forwards proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent
  access-control-request-method`.split(/\s+/),
);

/** Objects of a class stay fast as they grow, those without a prototype do not. This prototype has nothing in it. */
class Fields {
  [name: string]: string | string[] | undefined;
}
Reflect.deleteProperty(Fields.prototype, 'constructor');
Object.setPrototypeOf(Fields.prototype, null);

export function newHeaders(): HeaderObject {
  return new Fields();
}

export function addHeader(headers: HeaderObject, name: string, value: string): void {
  const before = headers[name];
  if (name === 'set-cookie') headers[name] = Array.isArray(before) ? [...before, value] : [value];
  else if (before === undefined) headers[name] = value;
  else if (!SINGLE.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
}
