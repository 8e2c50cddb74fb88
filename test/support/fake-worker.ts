/** A worker of node:cluster without a process, for unit tests of its supervisor. */
import { EventEmitter } from 'node:events';
import type { SupervisorMessage, WorkerMessage } from '../../src/gateway/app/workers/messages.ts';
import type { ForkedWorker } from '../../src/gateway/app/workers/worker-handle.ts';

export class FakeWorker extends EventEmitter {
  readonly sent: SupervisorMessage[] = [];
  readonly signals: string[] = [];
  readonly id: number;
  connected = true;
  /** Whether it answers pings. They are not among the messages that it keeps. */
  responds = true;
  readonly process = { pid: 1, kill: (signal: string) => this.signals.push(signal) };

  constructor(id = 1) {
    super();
    this.id = id;
  }

  get asForked(): ForkedWorker {
    return this as unknown as ForkedWorker;
  }

  isConnected(): boolean {
    return this.connected;
  }

  send(message: SupervisorMessage): void {
    if (message.type !== 'ping') this.sent.push(message);
    else if (this.responds) queueMicrotask(() => this.says({ type: 'pong' }));
  }

  says(message: WorkerMessage): void {
    this.emit('message', message);
  }

  /** Ends as a process does: the exit, then its channel. */
  exits(code: number | null, signal: string | null = null): void {
    this.emit('exit', code, signal);
    this.connected = false;
    this.emit('disconnect');
  }
}
