/** Values to plant in place of secrets and client names, and a search for them in the output of a process. */
import { hash } from 'node:crypto';

/** Every planted text begins with this, so that a part of one is found as well. */
const MARK = 'sentinel-';
/** Every spelling is at least this long, so that one look at every place of a text is enough. */
const PROBE_LENGTH = 8;

interface Needle {
  readonly name: string;
  readonly text: string;
}

export class Sentinels {
  readonly #needles = new Map<string, Needle[]>();
  #count = 0;

  constructor() {
    this.#add('a part of a planted text', spellings(MARK));
  }

  get count(): number {
    return this.#count;
  }

  /** A text that fits into any header, cookie, query, password or token. */
  text(kind: string): string {
    const text = `${MARK}${kind.replaceAll(' ', '-')}-${this.#count++}+`;
    this.#add(kind, { ...spellings(text), 'SHA-256': hash('sha256', text) });
    return text;
  }

  /** A text that names a client and can be guessed, such as a user: an unkeyed hash of it must not be found either. */
  name(kind: string): string {
    const text = this.text(kind);
    // The beginnings, so that shortened hashes are found as well.
    this.#add(kind, {
      'SHA-256 in hex, its beginning': hash('sha256', text).slice(0, 16),
      'SHA-256 in base64, its beginning': hash('sha256', text, 'base64').slice(0, 16),
      'SHA-256 in base64url, its beginning': hash('sha256', text, 'base64url').slice(0, 16),
    });
    return text;
  }

  /** An address of the networks for benchmarks (RFC 2544), which no program prints by itself. */
  ipv4(kind = 'IPv4 address'): string {
    const number = this.#count++;
    const address = `198.${18 + ((number >> 16) & 1)}.${(number >> 8) & 255}.${number & 255}`;
    this.#add(kind, addressSpellings(address));
    return address;
  }

  /** An address of the network for documentation (RFC 3849). Its /64 is a planted value too. */
  ipv6(kind = 'IPv6 address'): string {
    const number = (this.#count++).toString(16);
    const network = `2001:db8:${number}:77`;
    const address = `${network}::${number}`;
    this.#add(kind, addressSpellings(address));
    this.#add(`network of an ${kind}`, addressSpellings(`${network}::/64`));
    this.#add(`network of an ${kind}`, { itself: `${network}:` });
    return address;
  }

  /** The sentinels in a text, in any spelling and in any case, each once. */
  findIn(text: string): string[] {
    const found = new Set<string>();
    const lower = text.toLowerCase();
    for (let place = 0; place + PROBE_LENGTH <= lower.length; place++) {
      const probe = lower.slice(place, place + PROBE_LENGTH);
      for (const needle of this.#needles.get(probe) ?? []) {
        if (lower.startsWith(needle.text, place)) found.add(needle.name);
      }
    }
    return [...found];
  }

  #add(kind: string, spelled: Readonly<Record<string, string>>): void {
    for (const [spelling, text] of Object.entries(spelled)) {
      const lower = text.toLowerCase();
      if (lower.length < PROBE_LENGTH) throw new RangeError(`${text} is too short to look for`);
      const probe = lower.slice(0, PROBE_LENGTH);
      const name = `${kind}, ${spelling}: ${text}`;
      const others = this.#needles.get(probe) ?? [];
      this.#needles.set(probe, [...others, { name, text: lower }]);
    }
  }
}

/** With hashes, because an unkeyed hash of an address can be reversed by trying all addresses. */
function addressSpellings(address: string): Record<string, string> {
  return {
    ...spellings(address),
    'SHA-256': hash('sha256', address),
    'SHA-256 as a partition': hash('sha256', address, 'base64url').slice(0, 22),
  };
}

/** How a text may appear in another text, also as a part of something encoded. */
export function spellings(text: string): Record<string, string> {
  const escaped = [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
  return {
    itself: text,
    'as a component of a URL': encodeURIComponent(text),
    'percent-encoded': escaped.join(''),
    hex: Buffer.from(text).toString('hex'),
    ...Object.fromEntries(
      [0, 1, 2].flatMap((before) => [
        [`base64 after ${before} bytes`, withinBase64(text, before, 'base64')],
        [`base64url after ${before} bytes`, withinBase64(text, before, 'base64url')],
      ]),
    ),
  };
}

/** The base64 characters that depend on `text` alone if `before` bytes (of three) precede it. */
function withinBase64(text: string, before: number, encoding: 'base64' | 'base64url'): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const wholeCharacters = Math.floor((bytes.length * 8) / 6);
  return bytes.toString(encoding).slice(Math.ceil((before * 8) / 6), wholeCharacters);
}
