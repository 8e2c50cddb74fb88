/** What a single request says about its client. */
import { fnv1a32 } from '../../../gateway/core/fnv1a.ts';
import type { LogEntry } from '../formats/log-format.ts';

export const CLIENT_ERROR = 1;
export const ASSET = 2;
export const BOT_AGENT = 4;

/** A denial by a rate limit is no sign of a bot. */
const TOO_MANY_REQUESTS = 429;

export function signsOf({ status, target }: LogEntry, agent: UserAgent): number {
  const isError =
    status !== undefined && status >= 400 && status < 500 && status !== TOO_MANY_REQUESTS;
  return (
    (isError ? CLIENT_ERROR : 0) | (isAssetPath(target) ? ASSET : 0) | (agent.isBot ? BOT_AGENT : 0)
  );
}

export interface UserAgent {
  readonly hash: number;
  readonly isBot: boolean;
}

/** Words in the user agents of crawlers, monitors and HTTP libraries. */
const PROGRAM =
  /(?<!cu)bot(?![a-z])|crawl|spider|slurp|scrap|fetch|monitor|uptime|pingdom|statuscake|healthcheck|health-check|kube-probe|curl\/|wget|httpie|python|aiohttp|httpx|go-http-client|java\/|okhttp|apache-httpclient|libwww|perl|ruby|guzzle|php\/|node-fetch|axios|undici|headless|phantomjs|selenium|facebookexternalhit|preview|feed|rss|gptbot|claudebot|ahrefs|semrush|zgrab|masscan|nmap|nikto|sqlmap|wpscan|postman|insomnia|k6\/|jmeter|prometheus/i;
const REMEMBERED = 10_000;
const NONE: UserAgent = { hash: 0, isBot: false };

export class UserAgents {
  readonly #known = new Map<string, UserAgent>();

  read(text: string | undefined): UserAgent {
    if (text === undefined) return NONE;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const agent = { hash: fnv1a32(text), isBot: PROGRAM.test(text) };
    if (this.#known.size === REMEMBERED) this.#known.clear();
    this.#known.set(text, agent);
    return agent;
  }
}

const ASSET_PATH =
  /\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|eot)(?:[?#]|$)/i;

export function isAssetPath(target: string): boolean {
  return ASSET_PATH.test(target);
}
