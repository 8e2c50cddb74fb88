/**
 * ioredis throws at replies that no server should send (a null where a push names its kind), and does so where nobody
 * can catch it: the process would end. To us that is a connection that is broken, and given up.
 */
import { createRequire } from 'node:module';

/** What its types keep to themselves; test/integration/wire-faults.test.ts fails when a release changes it. */
interface ReplyHandler {
  dispatch(handle: () => void): void;
  returnFatalError(error: unknown): void;
}

/** For every client of this process. */
export function surviveOddReplies(): void {
  const { default: DataHandler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js');
  const handler: ReplyHandler = DataHandler.prototype;
  handler.dispatch = function dispatch(this: ReplyHandler, handle) {
    try {
      handle();
    } catch (error) {
      this.returnFatalError(error);
    }
  };
}
