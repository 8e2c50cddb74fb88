/** Recognizes user agents, and remembers the last ones: a log repeats few. */
import { fnv1a32 } from '../../../gateway/core/fnv1a.ts';
import type { UserAgent } from './request-signs.ts';

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
