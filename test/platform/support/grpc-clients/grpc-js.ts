/** grpc-js as a tested client. */
import { readFileSync } from 'node:fs';
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { type CallOptions, Collected, type TestedClient } from './tested-client.ts';

const GZIP = 2;
const OF_ITS_OWN = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.ssl_target_name_override': 'localhost',
};
const asIs = (bytes: Buffer) => bytes;

/** `caFile`: undefined over clear text. */
export function connectGrpcJs(target: string, caFile: string | undefined): TestedClient {
  const ssl =
    caFile === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(readFileSync(caFile));
  const open = (options = {}) => new Client(target, ssl, { ...OF_ITS_OWN, ...options });
  const plain = open();
  // It connects at its first call.
  const packing = open({ 'grpc.default_compression_algorithm': GZIP });
  const chosen = ({ gzip = false }: CallOptions) => (gzip ? packing : plain);
  const termsOf = ({ withinMs }: CallOptions) =>
    withinMs === undefined ? {} : { deadline: Date.now() + withinMs };
  return {
    begin(path, message, options = {}) {
      const collected = new Collected();
      const take = (error: ServiceError | null, answer?: Buffer) => {
        if (answer !== undefined) collected.add(answer);
        collected.end(error?.code ?? 0, error?.details ?? '');
      };
      const terms = termsOf(options);
      const call = chosen(options).makeUnaryRequest(
        ...([path, asIs, asIs, message, new Metadata(), terms, take] as const),
      );
      return running(collected, call);
    },
    beginStream(path, message, options = {}) {
      const collected = new Collected();
      const call: ClientReadableStream<Buffer> = chosen(options).makeServerStreamRequest(
        ...([path, asIs, asIs, message, termsOf(options)] as const),
      );
      call.on('data', (answer: Buffer) => collected.add(answer));
      // The status follows.
      call.on('error', () => {});
      call.on('status', ({ code, details }) => collected.end(code, details));
      return running(collected, call);
    },
    [Symbol.asyncDispose]: async () => {
      plain.close();
      packing.close();
    },
  };
}

const running = ({ ended, first }: Collected, call: { cancel(): void }) => ({
  ...{ ended, first },
  cancel: () => call.cancel(),
});
