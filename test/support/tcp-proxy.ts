/** A TCP proxy that misbehaves on demand, each connection in the same way from one chunk to the next. */
import { connect, createServer, type Socket } from 'node:net';
import { listenLocally } from './local-server.ts';

/** What is wrong with the wire; nothing of it by default. */
export interface Toxic {
  /** Every reply is so much later, and up to `jitterMs` more; never out of order. */
  readonly latencyMs?: number;
  readonly jitterMs?: number;
  /** Of replies. */
  readonly bytesPerSecond?: number;
  /** Replies arrive in slices of so many bytes, each a packet of its own. */
  readonly sliceBytes?: number;
  /** Thrown away: nobody hears of it. */
  readonly swallows?: 'requests' | 'replies' | 'both';
  /** Nothing passes; what was sent meanwhile arrives when the toxic is gone, as after a partition. */
  readonly holds?: boolean;
  /** Connections are accepted, and nobody is behind them. */
  readonly isHalfOpen?: boolean;
  /** The share of new connections that is reset at once. */
  readonly refusedShare?: number;
  /** How a connection ends in place of a reply. */
  readonly replyEnds?: {
    readonly how: Ending | 'any';
    readonly share: number;
    /** Only the reply to a command whose text has this; any by default. */
    readonly to?: string;
  };
  /** An end of the connection hears so much later that the other closed it. */
  readonly closeDelayMs?: number;
}

/** Lost: nothing of it arrives. Halved: the first half does, then the end. Reset: the first half does, then an RST. */
type Ending = 'lost' | 'halved' | 'reset';

const ENDINGS = ['lost', 'halved', 'reset'] as const;

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Replies that did not arrive as they were sent, with the end of their connection. */
  readonly endedReplies: number;
  /** In place of what was wrong before; nothing is wrong with `{}`. */
  apply(toxic: Toxic): void;
  /** With an RST on both sides. */
  resetConnections(): void;
  /** Every connection is reset, and every new one; until something else is applied. */
  cut(): void;
  /** What the server sends next is thrown away, and the connection with it: carried out, and never answered. */
  loseNextReply(): void;
}

interface Wire {
  readonly toxic: Toxic;
  /** True for the one reply that is to be lost. */
  takeLoss(): boolean;
  onEndedReply(): void;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const connections = new Set<ProxiedConnection>();
  let toxic: Toxic = {};
  let losing = false;
  let endedReplies = 0;
  const wire: Wire = {
    get toxic() {
      return toxic;
    },
    takeLoss() {
      const loses = losing;
      losing = false;
      return loses;
    },
    onEndedReply() {
      endedReplies++;
    },
  };
  const server = createServer({ noDelay: true }, (client) => {
    const connection = new ProxiedConnection(client, targetPort, wire, () =>
      connections.delete(connection),
    );
    connections.add(connection);
  });
  const resetConnections = () => {
    for (const connection of connections) connection.reset();
  };
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return {
    port,
    get endedReplies() {
      return endedReplies;
    },
    apply(next) {
      toxic = next;
      for (const connection of connections) connection.flush();
    },
    resetConnections,
    cut() {
      toxic = { refusedShare: 1 };
      resetConnections();
    },
    loseNextReply: () => {
      losing = true;
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of connections) connection.destroy();
      await close();
    },
  };
}

class ProxiedConnection {
  readonly #client: Socket;
  readonly #target: Socket | undefined;
  readonly #wire: Wire;
  readonly #requests: Lane;
  readonly #replies: Lane;

  constructor(client: Socket, targetPort: number, wire: Wire, onGone: () => void) {
    this.#client = client;
    this.#wire = wire;
    const { isHalfOpen = false, refusedShare = 0 } = wire.toxic;
    const isRefused = Math.random() < refusedShare;
    this.#target = isHalfOpen || isRefused ? undefined : connect(targetPort, '127.0.0.1');
    this.#target?.setNoDelay(true);
    this.#requests = new Lane(wire, 'requests', (chunk) => this.#target?.write(chunk));
    this.#replies = new Lane(wire, 'replies', (chunk) => this.#reply(chunk));
    client.on('data', (chunk) => this.#requests.push(chunk));
    this.#target?.on('data', (chunk) => this.#replies.push(chunk));
    client.on('error', () => {}).on('close', () => this.#closeLater(this.#target));
    client.on('close', onGone);
    this.#target?.on('error', () => {}).on('close', () => this.#closeLater(client));
    if (isRefused) client.resetAndDestroy();
  }

  flush(): void {
    this.#requests.flush();
    this.#replies.flush();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#target?.resetAndDestroy();
  }

  destroy(): void {
    this.#client.destroy();
    this.#target?.destroy();
  }

  #closeLater(other: Socket | undefined): void {
    const { closeDelayMs = 0 } = this.#wire.toxic;
    if (closeDelayMs === 0) other?.destroy();
    else setTimeout(() => other?.destroy(), closeDelayMs).unref();
  }

  #reply(chunk: Buffer): void {
    const how = this.#endingOfReply();
    if (how === undefined) {
      this.#client.write(chunk);
      return;
    }
    this.#wire.onEndedReply();
    this.#replies.close();
    if (how !== 'lost') this.#client.write(chunk.subarray(0, chunk.length >> 1));
    if (how === 'halved') this.#client.end();
    else if (how === 'reset') this.#client.resetAndDestroy();
    else this.#client.destroy();
  }

  #endingOfReply(): Ending | undefined {
    if (this.#wire.takeLoss()) return 'lost';
    const { replyEnds } = this.#wire.toxic;
    if (replyEnds === undefined) return undefined;
    const { how, share, to } = replyEnds;
    if (to !== undefined && !this.#requests.takeSeen(to)) return undefined;
    if (Math.random() >= share) return undefined;
    return how === 'any' ? ENDINGS[Math.floor(Math.random() * ENDINGS.length)] : how;
  }
}

/** One direction of a connection: chunks in their order, each when its time has come. */
class Lane {
  readonly #wire: Wire;
  readonly #direction: 'requests' | 'replies';
  readonly #deliver: (chunk: Buffer) => void;
  readonly #queue: { readonly chunk: Buffer; readonly dueMs: number }[] = [];
  #lastDueMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #seen = '';

  constructor(wire: Wire, direction: 'requests' | 'replies', deliver: (chunk: Buffer) => void) {
    this.#wire = wire;
    this.#direction = direction;
    this.#deliver = deliver;
  }

  push(chunk: Buffer): void {
    const { swallows, sliceBytes = chunk.length } = this.#wire.toxic;
    if (swallows === 'both' || swallows === this.#direction) return;
    const step = this.#direction === 'replies' ? sliceBytes : chunk.length;
    for (let start = 0; start < chunk.length; start += step) {
      const slice = chunk.subarray(start, start + step);
      this.#queue.push({ chunk: slice, dueMs: this.#dueMsOf(slice) });
    }
    this.flush();
  }

  /** Delivers what is due, and comes back for the rest. */
  flush(): void {
    clearTimeout(this.#timer);
    if (this.#wire.toxic.holds) return;
    const nowMs = performance.now();
    while (!this.#isClosed && this.#queue[0] !== undefined && this.#queue[0].dueMs <= nowMs) {
      const { chunk } = this.#queue.shift() as { chunk: Buffer };
      if (this.#wire.toxic.replyEnds?.to !== undefined) this.#seen = chunk.toString('latin1');
      this.#deliver(chunk);
      // Written in one turn, slices would be read as one.
      if (this.#wire.toxic.sliceBytes !== undefined && this.#queue.length > 0) {
        setImmediate(() => this.flush());
        return;
      }
    }
    const next = this.#queue[0];
    if (next === undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => this.flush(), Math.max(1, next.dueMs - nowMs));
    this.#timer.unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Whether what was delivered last has these words; asked once about each. */
  takeSeen(words: string): boolean {
    const isSeen = this.#seen.includes(words);
    this.#seen = '';
    return isSeen;
  }

  #dueMsOf(chunk: Buffer): number {
    const { latencyMs = 0, jitterMs = 0, bytesPerSecond } = this.#wire.toxic;
    const nowMs = performance.now();
    if (this.#direction === 'requests') return nowMs;
    const lateMs = latencyMs + Math.random() * jitterMs;
    const sendMs = bytesPerSecond === undefined ? 0 : (chunk.length * 1_000) / bytesPerSecond;
    this.#lastDueMs = Math.max(nowMs + lateMs, this.#lastDueMs) + sendMs;
    return this.#lastDueMs;
  }
}
