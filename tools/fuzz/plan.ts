/** What one connection of the fuzzer does: bytes with pauses between them, and how it ends. It follows from a seed. */
import type { Random } from '../../test/support/random.ts';

export type PortName = 'grpc' | 'check' | 'json' | 'ops';

/**
 * What happens after a step. `none`: the next step is in the same write. `turn`: it is in another one. `answer`: it waits
 * until the gateway has sent something. A number: it waits so many milliseconds.
 */
export type Pause = 'none' | 'turn' | 'answer' | number;

export interface Step {
  /** Names what the bytes are, for the report of a crash. */
  readonly label: string;
  readonly bytes: Buffer;
  readonly pause: Pause;
}

/** `half`: the sending side ends first. `wait`: the gateway may close it. */
export const ENDINGS = ['reset', 'destroy', 'half', 'half-reset', 'wait'] as const;
export type Ending = (typeof ENDINGS)[number];

export interface Plan {
  readonly port: PortName;
  /** Whether the client makes a TLS handshake first, if the port has TLS. */
  readonly handshakes: boolean;
  /** Whether it reads what the gateway sends. */
  readonly reads: boolean;
  readonly steps: readonly Step[];
  readonly ending: Ending;
}

/** A part of a conversation, without its pause. */
export type Part = Omit<Step, 'pause'>;

export const part = (label: string, bytes: Uint8Array | string): Part => ({
  label,
  bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes),
});

const LONGEST_PAUSE_MS = 20;
const CHANCE_OF_CUT = 0.3;
const CHANCE_OF_SPLIT = 0.15;

/** Adds pauses, splits parts at random bytes, and may cut the whole off in the middle. */
export function planOf(random: Random, port: PortName, parts: readonly Part[]): Plan {
  const rushed = random.next() < 0.5;
  const pause = (): Pause => {
    if (random.next() < (rushed ? 0.9 : 0.4)) return 'none';
    const kind = random.next();
    if (kind < 0.6) return 'turn';
    return kind < 0.8 ? 'answer' : 1 + random.below(LONGEST_PAUSE_MS);
  };
  let steps = parts.flatMap((each): Step[] => {
    if (each.bytes.length < 2 || random.next() > CHANCE_OF_SPLIT) {
      return [{ ...each, pause: pause() }];
    }
    const at = 1 + random.below(each.bytes.length - 1);
    const [first, second] = splitAt(each, at);
    return [
      { ...first, pause: random.next() < 0.8 ? 'turn' : 5 },
      { ...second, pause: pause() },
    ];
  });
  if (random.next() < CHANCE_OF_CUT) steps = cutAt(steps, random.below(lengthOf(steps) + 1));
  return {
    port,
    handshakes: random.next() < 0.9,
    reads: random.next() < 0.8,
    steps,
    ending: random.oneOf(ENDINGS),
  };
}

/** A prime above the length of each conversation: its multiples reach all bytes, in an order that is spread. */
const STRIDE = 7_919;

/** Sends the beginning of a conversation up to a byte. Number after number, this is each byte with each ending. */
export function planOfBeginning(port: PortName, parts: readonly Part[], number: number): Plan {
  const steps = parts.map((each): Step => ({ ...each, pause: 'none' }));
  const ending = ENDINGS[number % ENDINGS.length] as Ending;
  const at = (Math.floor(number / ENDINGS.length) * STRIDE) % (lengthOf(steps) + 1);
  return { port, handshakes: true, reads: true, steps: cutAt(steps, at), ending };
}

export function lengthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function cutAt(steps: readonly Step[], length: number): Step[] {
  const kept: Step[] = [];
  let left = length;
  for (const step of steps) {
    if (left <= 0) break;
    kept.push(left < step.bytes.length ? { ...step, ...splitAt(step, left)[0] } : step);
    left -= step.bytes.length;
  }
  return kept;
}

function splitAt({ label, bytes }: Part, at: number): [Part, Part] {
  return [
    { label: `${label}, bytes to ${at}`, bytes: bytes.subarray(0, at) },
    { label: `${label}, bytes from ${at}`, bytes: bytes.subarray(at) },
  ];
}
