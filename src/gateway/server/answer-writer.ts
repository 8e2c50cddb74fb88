/**
 * Writes answers. node:http checks and joins the headers of an answer one by one, which takes as long as counting in memory.
 * Here the head is one text with one check, and node:http sends it.
 *
 * The text goes into a property of node:http that its documentation does not name. So before the first answer, real servers
 * answer both ways, and unless they send the same bytes, `writeHead` writes every answer. It also writes those after
 * which the connection closes.
 */
import { createServer, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Answer } from '../core/dialect.ts';

/** What node:http has for a head that is complete. */
type PresetHead = { _header: string | null };

type Write = (response: ServerResponse, answer: Answer) => void;

export class AnswerWriter {
  readonly #options: ServerOptions;
  readonly #keepAlive: string;
  #presetsHeads = false;
  #second = 0;
  #tail = '';

  /** `options` are those of the server whose answers it writes. */
  constructor(options: ServerOptions & { readonly keepAliveTimeout: number }) {
    this.#options = options;
    const seconds = Math.floor(options.keepAliveTimeout / 1_000);
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
  }

  /** Finds out whether this Node sends a text as it sends headers. Until then `writeHead` writes every answer. */
  async compare(): Promise<void> {
    const preset: Write = (response, answer) => this.#preset(response, answer);
    const [asText, asHeaders] = await Promise.all([this.#sent(preset), this.#sent(writeWhole)]);
    this.#presetsHeads = asText !== undefined && asText === asHeaders;
  }

  write(response: ServerResponse, answer: Answer): void {
    if (this.#presetsHeads) this.#preset(response, answer);
    else writeWhole(response, answer);
  }

  #preset(response: ServerResponse, answer: Answer): void {
    const { status, headers, body } = answer;
    const { req, shouldKeepAlive } = response;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
    // node:http closes the connection after a final answer to "Expect: 100-continue".
    const isPlain = shouldKeepAlive && req.headers.expect === undefined && IN_ASCII.test(body);
    if (isPlain && hasLines(head, headers.length / 2 + 1)) {
      const sentBody = req.method === 'HEAD' ? '' : body;
      // To node:http all of it is the head, so it neither buffers nor encodes a body.
      (response as unknown as PresetHead)._header = head + this.#tailNow() + sentBody;
      response.end();
    } else {
      writeWhole(response, answer);
    }
  }

  /** The lines that node:http adds. RFC 9110, section 5.6.7, has the form of the date. */
  #tailNow(): string {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#tail = `Date: ${new Date(second * 1_000).toUTCString()}\r\n${this.#keepAlive}`;
    }
    return this.#tail;
  }

  /** What a server sends in three answers, without their dates; undefined if it fails. */
  async #sent(write: Write): Promise<string | undefined> {
    const server = createServer(this.#options, (_message, response) => {
      try {
        write(response, { status: 429, headers: ['A', 'b', 'Content-Length', '1'], body: 'c' });
      } catch {
        far.destroy();
      }
    });
    const [near, far] = duplexPair();
    server.emit('connection', near);
    far.end(REQUESTS);
    const givingUp = setTimeout(() => far.destroy(), GIVE_UP_MS);
    const sent = await text(far).catch(() => undefined);
    clearTimeout(givingUp);
    return sent?.replace(DATE, 'Date: ');
  }
}

/** The last one ends the connection. */
const REQUESTS = ['GET / HTTP/1.1', 'HEAD / HTTP/1.1', 'GET / HTTP/1.1\r\nConnection: close']
  .map((head) => `${head}\r\nHost: a\r\n\r\n`)
  .join('');
const DATE = /(?<=^)Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT(?=\r$)/gm;
const GIVE_UP_MS = 1_000;

function writeWhole(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers);
  response.end(body);
}

const IN_ASCII = /^[\0-\x7f]*$/;
const LINES: RegExp[] = [];

/** Whether a head has so many lines, of characters that a header can have: no value of a header ends its line. */
function hasLines(head: string, count: number): boolean {
  LINES[count] ??= new RegExp(`^(?:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n){${count}}$`);
  return LINES[count].test(head);
}
