/** What a strict client received for one of its calls, and what it expects. */

export interface Expected {
  readonly label: string;
  /** Statuses of gRPC, or `HTTP 415`. */
  readonly statuses: readonly string[];
  /** Of the message with its frame. Undefined: any message if the status is 0, else none. */
  readonly body?: Buffer;
  /** The server must not end it: a watch. */
  readonly staysOpen?: boolean;
}

type Fields = ReadonlyMap<string, string>;

export class ReceivedCall {
  readonly expected: Expected;
  /** What the client may send and the server may send. */
  sendWindow: number;
  receiveWindow: number;
  hasEnded = false;
  /** The client reset it: what comes is what was on its way. */
  isReset = false;
  #head: Fields | undefined;
  #trailers: Fields | undefined;
  readonly #body: Buffer[] = [];

  constructor(expected: Expected, windows: { send: number; receive: number }) {
    this.expected = expected;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }

  get bodyLength(): number {
    return this.#body.reduce((sum, { length }) => sum + length, 0);
  }

  /** Each of these returns what is wrong. */
  takeHeaders(fields: Fields, ends: boolean): string | undefined {
    if (this.hasEnded) return 'headers after the end';
    if (this.#head === undefined) this.#head = fields;
    else if (!ends) return 'trailers that do not end the stream';
    else this.#trailers = fields;
    return ends ? this.#end() : undefined;
  }

  takeData(payload: Buffer, ends: boolean): string | undefined {
    if (this.hasEnded) return 'data after the end';
    if (this.#head === undefined) return 'data before headers';
    this.#body.push(Buffer.from(payload));
    return ends ? this.#end() : undefined;
  }

  takeReset(code: number): string | undefined {
    if (code === 0 && this.hasEnded) return undefined;
    return `a reset with code ${code}`;
  }

  #end(): string | undefined {
    this.hasEnded = true;
    if (this.isReset) return undefined;
    if (this.expected.staysOpen) return 'the end of a watch';
    const head = this.#head as Fields;
    const httpStatus = head.get(':status');
    const grpcStatus = (this.#trailers ?? head).get('grpc-status');
    const status = httpStatus === '200' ? String(grpcStatus) : `HTTP ${httpStatus}`;
    if (!this.expected.statuses.includes(status)) return `status ${status}`;
    return this.#bodyMistake(status);
  }

  #bodyMistake(status: string): string | undefined {
    const body = Buffer.concat(this.#body);
    if (status !== '0') return body.length === 0 ? undefined : 'a body with an error';
    if (this.expected.body !== undefined) {
      return body.equals(this.expected.body) ? undefined : `another body: ${body.toString('hex')}`;
    }
    const isFramed = body.length > 5 && body[0] === 0 && body.readUInt32BE(1) === body.length - 5;
    return isFramed ? undefined : `no message: ${body.toString('hex')}`;
  }
}
