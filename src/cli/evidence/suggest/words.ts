/** Words and figures for people, in text and YAML alike. Dates are in UTC. */
import { count, counted } from '../figures.ts';
import { percentile } from './choices.ts';
import type { Denied } from './measure.ts';
import { QUANTILES, type Share } from './statistics.ts';
import type { Stratum } from './strata.ts';
import type { Extent, RouteEvidence } from './suggest.ts';

export const STRATUM_WORDS: Readonly<Record<Stratum, string>> = {
  ordinary: 'clients',
  shared_address: 'shared addresses',
  declared_bot: 'declared bots',
  probable_bot: 'probable bots',
};

/** In percent, with two digits that count: `0.24`, `12`. */
function percent(share: number): string {
  const value = 100 * share;
  if (value === 0 || value === 100) return String(value);
  return value >= 10 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}

/** `0 to 0.14 %` */
export function intervalText({ low, high }: Share): string {
  return `${percent(low)} to ${percent(high)} %`;
}

/** `3 of 2,660 (0.04 to 0.3 %)`; `none` if there are no such clients or requests. */
export function deniedText(found: Denied): string {
  if (found.of === 0) return 'none';
  return `${count(found.denied)} of ${count(found.of)} (${intervalText(found)})`;
}

/** `2026-01-05 to 2026-01-08, 439,864 requests, 2,678 clients` */
export function extentText({ fromMs, toMs, requests, clients }: Extent): string {
  const dates = [fromMs, toMs].map((timeMs) => new Date(timeMs).toISOString().slice(0, 10));
  const days = [...new Set(dates)].join(' to ');
  return `${days}, ${counted(requests, 'request')}, ${counted(clients, 'client')}`;
}

/** `only 9 clients look human; 62 were left out as bots; 29 are needed` */
export function lackText(evidence: RouteEvidence): string {
  const { nonBotDays, nonBotClients, clients, notEnoughFor } = evidence;
  const isOneDayEach = nonBotDays === nonBotClients;
  const ofClients = counted(nonBotClients, 'client');
  const seen = isOneDayEach ? ofClients : `${counted(nonBotDays, 'client-day')} of ${ofClients}`;
  const look = `${seen} ${nonBotDays === 1 ? 'looks' : 'look'} human`;
  if (notEnoughFor.length < QUANTILES.length) return `${look}, but the log is too short`;
  const bots = clients.declared_bot + clients.probable_bot;
  const needed = Math.min(...notEnoughFor.map(({ daysNeeded }) => daysNeeded));
  const parts = [nonBotClients === 0 ? 'no client looks human' : `only ${look}`];
  if (bots === 1) parts.push('1 was left out as a bot');
  if (bots > 1) parts.push(`${count(bots)} were left out as bots`);
  parts.push(`${needed} ${isOneDayEach ? '' : 'client-days '}are needed`);
  return parts.join('; ');
}

/** `4,113 client-days of 2,672 clients that are no bots`, and what it is not enough for. */
export function evidenceText({ nonBotDays, nonBotClients, notEnoughFor }: RouteEvidence): string {
  const [missing] = notEnoughFor.toReversed();
  const days = `${counted(nonBotDays, 'client-day')} of ${counted(nonBotClients, 'client')} that are no bots`;
  return missing === undefined
    ? days
    : `${days}; not enough evidence for ${percentile(missing.quantile)}, which needs ${count(missing.daysNeeded)}`;
}
