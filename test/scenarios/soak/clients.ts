/** The clients of the soak, their requests, and the policy file that limits them. */
import { hash } from 'node:crypto';
import type { LoadRequest } from '../../../tools/load/open-loop.ts';

const LIMIT = 5;
const LISTED_KEYS = 40;

/** Short windows, so that keys come and go. Uses every algorithm, and counts in the gateway's memory if Redis fails. */
export function policyFile(version: number, windowSeconds: number): string {
  return `# version ${version}
version: 1
identity:
  sources: [api_key, ip]
  api_key: { keys: keys.yaml }
  ip: { ipv6_prefixes: { 64: 1x, 48: 4x } }
on_store_failure: local
default:
  limits: [${LIMIT}/${windowSeconds}s]
  plans: { pro: [${40 * LIMIT}/${windowSeconds}s] }
policies:
  - name: counted
    match: { path: /counted }
    limits: [{ rate: 50/${windowSeconds}s, algorithm: sliding-window-counter }]
  - name: smoothed
    match: { path: /smoothed }
    limits: [{ rate: 50/${windowSeconds}s, algorithm: token-bucket, burst: 20 }]
  - name: everything
    always: true
    limits: [{ rate: 100000/1s, per: global, algorithm: sliding-window-counter }]
`;
}

/** The listed keys that visitors use, and others that nobody uses. */
export function keyFile(others: number): string {
  const key = (name: string) => `- { id: ${name}, sha256: ${hash('sha256', name)}, plan: pro }\n`;
  const listed = Array.from({ length: LISTED_KEYS }, (_, i) => key(`listed-${i}`));
  const other = Array.from({ length: others }, (_, i) => key(`other-${i}`));
  return [...listed, ...other].join('');
}

/** One request in ten comes from a client that keeps retrying. */
const HAMMERED_EVERY = 10;
/** Ten clients at a time retry, with twenty requests each. Most of these are denied. */
const HAMMERERS_AT_ONCE = 10;
const REQUESTS_OF_HAMMERERS = 200;
/** Of eight visits, five are of new visitors and three of visitors that return. */
const VISITS = 8;
const NEW_VISITORS = 5;
const BACK_AFTER_GROUPS = 100;

export function requestOf(i: number): LoadRequest {
  const hammered = Math.floor(i / HAMMERED_EVERY);
  return i % HAMMERED_EVERY === 0 ? hammering(hammered) : visit(i - hammered - 1);
}

/** How many distinct clients have sent the first so many requests. */
export function clientsAmong(requests: number): number {
  const hammered = Math.ceil(requests / HAMMERED_EVERY);
  const hammerers = Math.ceil(hammered / REQUESTS_OF_HAMMERERS) * HAMMERERS_AT_ONCE;
  return hammerers + Math.ceil((requests - hammered) / VISITS) * NEW_VISITORS;
}

function hammering(i: number): LoadRequest {
  const hammerer =
    Math.floor(i / REQUESTS_OF_HAMMERERS) * HAMMERERS_AT_ONCE + (i % HAMMERERS_AT_ONCE);
  const address = `11.${ipv4Tail(hammerer)}`;
  const isKeyed = hammerer % 2 === 0;
  return {
    path: '/envoy/hammered',
    headers: isKeyed ? from(address, `hammerer-${hammerer}`) : from(address),
  };
}

function visit(i: number): LoadRequest {
  const group = Math.floor(i / VISITS);
  const place = i % VISITS;
  const isNew = place < NEW_VISITORS;
  const visitor = isNew
    ? group * NEW_VISITORS + place
    : Math.max(0, group - BACK_AFTER_GROUPS) * NEW_VISITORS + place - NEW_VISITORS;
  const path = ['/envoy/', '/envoy/counted', '/envoy/smoothed'][visitor % 3] as string;
  return { path, headers: headersOf(visitor) };
}

/** IPv4 and IPv6 addresses, unlisted keys from distinct and from shared addresses, and listed keys. */
function headersOf(visitor: number): Record<string, string> {
  const own = `10.${ipv4Tail(visitor)}`;
  const kinds = [
    () => from(own),
    () => from(`2a00:${hex(visitor & 0xffff)}:${hex(visitor >>> 16)}::1`),
    () => from(own, `invented-${visitor}`),
    () => from(`12.${ipv4Tail(Math.floor(visitor / 20))}`, `invented-${visitor}`),
    () => from(own, `listed-${Math.floor(visitor / 5) % LISTED_KEYS}`),
  ];
  return (kinds[visitor % kinds.length] as (typeof kinds)[number])();
}

function from(address: string, key?: string): Record<string, string> {
  const addresses = { 'x-headgate-peer-ip': address, 'x-headgate-client-ip': address };
  return key === undefined ? addresses : { ...addresses, 'x-api-key': key };
}

function ipv4Tail(number: number): string {
  return `${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

function hex(number: number): string {
  return number.toString(16);
}
