/** Both directions' windows, as a client counts them: https://www.rfc-editor.org/rfc/rfc9113#section-5.2 */
import type { ReceivedCall } from './received-call.ts';

const FIRST = 65_535;
const LARGEST = 2 ** 31 - 1;

export class Windows {
  /** By their streams. */
  readonly calls = new Map<number, ReceivedCall>();
  #send = FIRST;
  #receive = FIRST;
  /** Of new streams: what the server may be sent, and may send. */
  #initialSend = FIRST;
  #initialReceive = FIRST;

  get initial(): { readonly send: number; readonly receive: number } {
    return { send: this.#initialSend, receive: this.#initialReceive };
  }

  /** How much the server may send on the connection. */
  get receive(): number {
    return this.#receive;
  }

  /** How much of the body of a call may be sent now. */
  sendable({ sendWindow }: ReceivedCall): number {
    return Math.max(0, Math.min(sendWindow, this.#send));
  }

  sent(call: ReceivedCall, bytes: number): void {
    call.sendWindow -= bytes;
    this.#send -= bytes;
  }

  /** By the server. Returns what is wrong. */
  credited(stream: number, by: number): string | undefined {
    const call = this.calls.get(stream);
    if (by === 0) return 'a credit of 0';
    if (stream === 0) this.#send += by;
    else if (call === undefined) return 'a credit for no stream';
    else call.sendWindow += by;
    const largest = Math.max(this.#send, call?.sendWindow ?? 0);
    return largest > LARGEST ? 'too large a window' : undefined;
  }

  /** To the server. 0 is the connection. */
  granted(stream: number, by: number): void {
    const call = this.calls.get(stream);
    if (stream === 0) this.#receive += by;
    else if (call !== undefined) call.receiveWindow += by;
  }

  /** Returns what is wrong. */
  received(call: ReceivedCall, bytes: number): string | undefined {
    this.#receive -= bytes;
    call.receiveWindow -= bytes;
    if (bytes === 0) return undefined;
    if (this.#receive < 0) return 'more than the connection may send';
    return call.receiveWindow < 0 && !call.isReset ? 'more than the stream may send' : undefined;
  }

  /** A setting of the server. */
  setSend(window: number): void {
    for (const call of this.calls.values()) call.sendWindow += window - this.#initialSend;
    this.#initialSend = window;
  }

  /** A setting of the client. The server may use a larger window at once, and a smaller one when it has confirmed it. */
  announceReceive(window: number): void {
    if (window > this.#initialReceive) this.setReceive(window);
  }

  setReceive(window: number): void {
    for (const call of this.calls.values()) call.receiveWindow += window - this.#initialReceive;
    this.#initialReceive = window;
  }
}
