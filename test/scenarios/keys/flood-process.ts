/**
 * Sends requests as fast as they are answered, in its own process: started with `URL ADDRESSES KIND`. KIND is `invented`
 * for a new key in each request, or `one` for the same key of a customer. Reports how many were answered until its
 * parent disconnects or says so, and first that it flows.
 */
import { LoadConnection, type Pending } from '../../../tools/load/load-connection.ts';
import { requestOf } from './lab.ts';

const CONNECTIONS = 64;
/** Answers. */
const FLOWS_AFTER = 200;

const [url = '', addresses = '1', kind = 'invented'] = process.argv.slice(2);
let next = 0;
let answered = 0;
const run = Math.random().toString(36).slice(2);

/** Of the networks 10.0.0.0/8. */
function addressOf(i: number): string {
  const number = i % Number(addresses);
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

function request(i: number) {
  const id = kind === 'invented' ? `invented-${run}-${i}` : 'flooding-customer';
  return requestOf({ id, address: addressOf(i) });
}

function open(): void {
  const pending = (): Pending => ({ i: next++, dueMs: 0 });
  const connection: LoadConnection = new LoadConnection(
    { url, request },
    {
      onAnswer: () => {
        if (++answered === FLOWS_AFTER) process.send?.('flows');
      },
      onIdle: () => connection.send(pending()),
      onGone: open,
    },
  );
  connection.send(pending());
}

for (let i = 0; i < CONNECTIONS; i++) open();
process.on('disconnect', () => process.exit());
process.on('message', () => process.send?.(answered, () => process.exit()));
