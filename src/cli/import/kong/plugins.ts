import type { Partition } from '../../../gateway/core/policy.ts';
import { approximate, type Finding, leftOut, note, REDIS_SETTING } from '../shared/finding.ts';
import { headerPartition, INVENTED, isKeyHeader } from '../shared/headers.ts';
import type { ImportedFile, ImportedLimit, RateAmount } from '../shared/imported-limit.ts';
import { rateText } from '../shared/rates.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import type { Plugin } from './entities.ts';

export const RATE_LIMITING: readonly string[] = ['rate-limiting', 'rate-limiting-advanced'];

export interface PluginLimits {
  readonly limits: readonly ImportedLimit[];
  readonly onStoreFailure: 'deny' | undefined;
  /** For comments: `minute: 5, hour: 100`. */
  readonly text: string;
}

const PERIODS_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};
const LONGEST_MS = 31 * 86_400_000;

interface Written extends RateAmount {
  readonly text: string;
}

export class PluginReader {
  readonly findings: Finding[] = [];
  readonly #hasKeys: boolean;
  readonly #read = new Map<Plugin, PluginLimits>();

  constructor(hasKeys: boolean) {
    this.#hasKeys = hasKeys;
  }

  limitsOf(plugin: Plugin): PluginLimits {
    const known = this.#read.get(plugin) ?? this.#limits(plugin);
    this.#read.set(plugin, known);
    return known;
  }

  #limits(plugin: Plugin): PluginLimits {
    const { config } = plugin;
    const isAdvanced = plugin.name === 'rate-limiting-advanced';
    const written = isAdvanced ? windowsOf(config) : this.#periodsOf(plugin);
    const per = this.#perOf(plugin, config?.get(isAdvanced ? 'identifier' : 'limit_by'));
    this.#noteOptions(plugin);
    const isStrict = config?.get('fault_tolerant')?.text === 'false';
    return {
      limits: written.map(({ limit, windowMs }) => ({ rate: { limit, windowMs }, per })),
      onStoreFailure: isStrict ? 'deny' : undefined,
      text: written.map(({ text }) => text).join(', '),
    };
  }

  #periodsOf({ config }: Plugin): Written[] {
    const written = (config?.entries() ?? []).flatMap(([period, node]): Written[] => {
      const limit = node.number;
      const text = `${period}: ${node.text ?? ''}`;
      if (!/^(second|minute|hour|day|month|year)$/.test(period) || node.text === undefined)
        return [];
      if (limit === undefined || period === 'year') {
        const why =
          limit === undefined
            ? 'it is not a number. Write a limit by hand.'
            : 'the longest window of headgate is 31 days. Let the application count what it sells by the year.';
        this.findings.push(leftOut(node.place, text, why));
        return [];
      }
      if (period === 'month') {
        const why = 'Kong counts by the calendar month, and headgate in any 31 days.';
        this.findings.push(approximate(node.place, text, why));
      }
      return [{ limit, windowMs: PERIODS_MS[period] ?? LONGEST_MS, text }];
    });
    return written.sort((a, b) => a.windowMs - b.windowMs);
  }

  #perOf({ name, config, place }: Plugin, written: YamlNode | undefined): Partition {
    const by = written?.text ?? 'consumer';
    const [per, why] = this.#partition(by, config);
    if (why !== undefined)
      this.findings.push(approximate(written?.place ?? place, `${name} by ${by}`, why));
    return per;
  }

  /** The text says what differs from Kong. */
  #partition(by: string, config: YamlNode | undefined): [Partition, string?] {
    switch (by) {
      case 'ip':
        return ['ip'];
      case 'service':
        return ['global'];
      case 'header':
        return partitionOfHeader(config?.get('header_name')?.text ?? '');
      case 'path':
        return ['ip', BY_PATH];
      default:
        return this.#hasKeys ? ['client'] : ['ip', BY_CONSUMER];
    }
  }

  #noteOptions({ config, name }: Plugin): void {
    const add = (node: YamlNode | undefined, what: string, why: string) => {
      if (node !== undefined) this.findings.push(note(node.place, `${name} ${what}`, why));
    };
    const status = config?.get('error_code');
    if (status?.text !== '429') {
      const what = `error_code: ${status?.text ?? ''}`;
      add(status, what, 'headgate answers 429, with the time to wait.');
    }
    const hidden = config?.get('hide_client_headers');
    if (hidden?.isTrue === true) add(hidden, 'hide_client_headers', HIDDEN);
    const redis = config?.get('redis') ?? config?.get('redis_host');
    add(redis, 'redis', REDIS_SETTING);
  }
}

const BY_PATH =
  'Kong counts requests of one path together and all others by address. headgate counts all of them by address. Write a policy for the path with a limit per: global.';
const BY_CONSUMER =
  'the file has no key-auth, so headgate does not know your consumers. It counts addresses, as Kong does for requests without a consumer. If your proxy passes on the name of the user in a header, name it in identity.user.';
const HIDDEN =
  'headgate says in headers how much remains. Let the proxy remove them if clients must not see them.';

function partitionOfHeader(name: string): [Partition, string] {
  const per = headerPartition(name.toLowerCase()) ?? 'ip';
  const why = 'headgate does not count by this header. It counts the address of the client.';
  return [per, per === 'ip' ? why : INVENTED];
}

/** `limit` and `window_size` are lists of the same length. */
function windowsOf(config: YamlNode | undefined): Written[] {
  const limits = config?.get('limit');
  const sizes = (config?.get('window_size')?.texts() ?? []).map(Number);
  return (limits?.texts() ?? []).map((text, i) => {
    const seconds = sizes[i] ?? Number.NaN;
    return { limit: Number(text), windowMs: seconds * 1_000, text: `${text} in ${seconds} s` };
  });
}

export function consumerPlugin(
  { name, consumer, place }: Plugin,
  limits: readonly ImportedLimit[],
): Finding {
  const rates = limits.map(({ rate }) => rateText(rate));
  const plan =
    (consumer ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, '-')
      .replace(/^[-_]+/, '') || 'plan';
  const why = `limits of a consumer or a group are those of a plan. Make a key with headgate key new --id ${plan} --plan ${plan}, list it in identity.api_key.keys, and give policies plans: { ${plan}: [${rates.join(', ')}] }.`;
  return leftOut(place, `${name} of ${consumer ?? 'a consumer'}`, why);
}

/** Kong reads this header if key_names is not set. */
const DEFAULT_NAME = 'apikey';
const LIST_KEYS =
  'a policy file has only the SHA-256 of keys. Print entries for identity.api_key.keys with headgate key new. Until then, a key also counts for its address.';

/** No header, if the file has no key-auth. */
export function keyHeaderOf(
  plugins: readonly Plugin[],
): Pick<ImportedFile, 'apiKeyHeader' | 'findings'> {
  const [plugin] = plugins.filter(({ name }) => /^key-auth(-enc)?$/.test(name));
  if (plugin === undefined) return { findings: [] };
  const names = plugin.config?.get('key_names')?.texts() ?? [DEFAULT_NAME];
  const header = names.map((name) => name.toLowerCase()).find(isKeyHeader);
  const { place } = plugin;
  const what = `${plugin.name} ${names.join(', ')}`;
  if (header === undefined) {
    const why =
      'headgate reads API keys from headers with letters, digits and "-" in their names. Set identity.api_key.header.';
    return { apiKeyHeader: DEFAULT_NAME, findings: [approximate(place, what, why)] };
  }
  return { apiKeyHeader: header, findings: [leftOut(place, what, LIST_KEYS)] };
}
