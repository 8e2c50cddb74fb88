/** Says in words how the gateways are: what is wrong, worst first, or that all is well. The page and `headgate top` show it. */
import type { Output } from './operation-table.ts';
import type { StatusLine } from './schemas/overview.ts';
import { storeLines } from './store-text.ts';
import {
  clockText,
  firstText,
  gatewaysText,
  listText,
  plural,
  rateText,
  shareText,
} from './texts.ts';

type Known = Omit<Output<'overview'>, 'status'>;

/** Denials are worth a warning from so many per second on, if they are that share of all requests. */
const MANY_DENIALS = { perSecond: 1, share: 0.1 } as const;

export function statusOf(overview: Known): StatusLine[] {
  const wrong = [
    ...storeLines(overview),
    ...refusedCaller(overview),
    ...silentGateways(overview),
    ...policyFileFaults(overview),
    ...untrustedProxy(overview),
    ...unsettledPolicies(overview),
    ...manyDenials(overview),
  ];
  const traffic = trafficText(overview);
  const modes = changedModes(overview);
  if (wrong.length === 0) return [allIsWell(overview, traffic), ...modes];
  return [...wrong, ...modes, { level: 'well', text: traffic }];
}

function allIsWell({ store, gateways }: Known, traffic: string): StatusLine {
  const counting = `${gatewaysText(gateways)} ${gateways.answered === 1 ? 'counts' : 'count'}`;
  const where = store.kind === 'redis' ? 'Redis' : 'memory';
  return { level: 'well', text: `All is well: ${counting} in ${where}. ${traffic}` };
}

function trafficText({ rates: { requests, denials }, until, rate_ms: rateMs }: Known): string {
  // The denied clients beside it may be younger than the last step.
  if (requests === 0)
    return `No requests in the ${rateMs / 1_000} s until ${until.slice(11, 19)} UTC.`;
  return `In the last ${rateMs / 1_000} s: ${rateText(requests)} requests/s, ${shareText(denials, requests)} denied.`;
}

function manyDenials({
  rates: { requests, denials },
  rate_ms: rateMs,
  policies,
}: Known): StatusLine[] {
  if (denials < MANY_DENIALS.perSecond || denials < requests * MANY_DENIALS.share) return [];
  const [most] = policies.toSorted((a, b) => b.rates.denials - a.rates.denials);
  const by = most === undefined || most.rates.denials === 0 ? '' : `, most of them by ${most.name}`;
  const share = shareText(denials, requests);
  return [warning(`${share} of the requests were denied in the last ${rateMs / 1_000} s${by}.`)];
}

function silentGateways({ gateways: { asked, answered } }: Known): StatusLine[] {
  if (answered >= asked) return [];
  const text = `${asked - answered} of ${plural(asked, 'gateway')} did not answer: the numbers lack theirs.`;
  return [warning(text)];
}

function policyFileFaults({ policy_file: { digests, refused }, time }: Known): StatusLine[] {
  const lines: StatusLine[] = [];
  if (refused !== undefined) {
    const text = `A policy file was refused at ${clockText(refused.at, time)}, so the one before stays in force: ${firstText(refused.mistakes)}`;
    lines.push(warning(text));
  }
  if (digests.length > 1) {
    lines.push(warning(`The gateways have ${digests.length} different policy files.`));
  }
  return lines;
}

function refusedCaller({ refused_caller: found, time }: Known): StatusLine[] {
  if (found === undefined) return [];
  const text = `Calls without the right secret get 403, the last at ${clockText(found.last, time)}. If your proxy sends them, all of its clients get 403: set its X-Headgate-Secret to HEADGATE_PROXY_SECRET.`;
  return [{ level: 'wrong', text }];
}

function untrustedProxy({ untrusted_proxy: found, gateways: { answered } }: Known): StatusLine[] {
  if (found === undefined) return [];
  const where = answered > 1 ? ` to ${found.gateways} of ${plural(answered, 'gateway')}` : '';
  const text = `A proxy outside identity.trusted_proxies sends checks${where}: all of its clients share the limits of its address. Add the network that it connects from.`;
  return [warning(text)];
}

function unsettledPolicies({ unsettled_policies: names = [] }: Known): StatusLine[] {
  if (names.length === 0) return [];
  const text = `No outcomes are reported for ${listText(names)}: every reservation stays counted. Have the application or Envoy settle them.`;
  return [warning(text)];
}

function changedModes({ policies }: Known): StatusLine[] {
  const changed = policies.filter(({ mode, mode_of_file: ofFile }) => mode !== ofFile);
  if (changed.length > MOST_MODES) {
    const names = listText(changed.map(({ name }) => name));
    return [warning(`An operator changed the modes of ${names}.`)];
  }
  return changed.map(({ name, mode, mode_of_file: ofFile }) =>
    warning(`An operator set ${name} to ${mode}; the policy file says ${ofFile}.`),
  );
}

const MOST_MODES = 3;

function warning(text: string): StatusLine {
  return { level: 'warning', text };
}
