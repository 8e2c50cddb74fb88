/** What a single request says about its client. */
import { fnv1a32 } from '../../../gateway/core/fnv1a.ts';
import type { LogEntry } from '../formats/log-format.ts';

export const CLIENT_ERROR = 1;
export const ASSET = 2;
export const BOT_AGENT = 4;
export const APP_AGENT = 8;
export const BROWSER_AGENT = 16;

/** A denial by a rate limit is no sign of a bot. */
const TOO_MANY_REQUESTS = 429;

export function signsOf({ status, target }: LogEntry, agent: UserAgent): number {
  const isError =
    status !== undefined && status >= 400 && status < 500 && status !== TOO_MANY_REQUESTS;
  return (isError ? CLIENT_ERROR : 0) | (isAssetPath(target) ? ASSET : 0) | agent.sign;
}

export interface UserAgent {
  readonly hash: number;
  /** BOT_AGENT, APP_AGENT, BROWSER_AGENT or 0. */
  readonly sign: number;
}

/** Names of crawlers, monitors and scanners. */
const ROBOT =
  /(?<!cu)bot(?![a-z])|crawl|spider|slurp|scraper|scrapy|uptime|pingdom|statuscake|health-?check|kube-probe|headless|phantomjs|selenium|facebookexternalhit|ahrefs|semrush|zgrab|masscan|nmap|nikto|sqlmap|wpscan|jmeter|\bk6\/|prometheus/i;
/** Libraries of apps: each user of an app sends their name. */
const APP =
  /okhttp|cfnetwork|\bdart[/ ]|alamofire|afnetworking|dalvik|ktor-client|cronet|volley\/|react-?native|flutter|unityplayer|apache-httpclient\/unavailable|^(?!mozilla).*\b(?:android|iphone|ipad|ios)\b/i;
/** Programs and libraries of servers and scripts, and words that apps have in their names, too. */
const PROGRAM =
  /scrap|fetch|monitor|preview|feed|rss|curl\/|wget|httpie|python|aiohttp|httpx|go-http-client|java\/|apache-httpclient|libwww|\bperl|\bruby|guzzle|php\/|axios|undici|postman|insomnia/i;
const BROWSER = /^mozilla\//i;
const REMEMBERED = 10_000;
const NONE: UserAgent = { hash: 0, sign: 0 };

function signOf(text: string): number {
  if (ROBOT.test(text)) return BOT_AGENT;
  if (APP.test(text)) return APP_AGENT;
  if (PROGRAM.test(text)) return BOT_AGENT;
  return BROWSER.test(text) ? BROWSER_AGENT : 0;
}

export class UserAgents {
  readonly #known = new Map<string, UserAgent>();

  read(text: string | undefined): UserAgent {
    if (text === undefined) return NONE;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const agent = { hash: fnv1a32(text), sign: signOf(text) };
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
