/** Allows every check of Envoy over gRPC, and keeps the bytes of each. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { CHECK } from '../../support/grpc-frames.ts';

export interface CheckRecorder extends AsyncDisposable {
  readonly port: number;
  /** In order. */
  readonly checks: Buffer[];
}

/** A CheckResponse with an empty `ok_response`: the status is 0, which protobuf leaves out. */
const ALLOW = Buffer.from([0x1a, 0x00]);

export async function startCheckRecorder(): Promise<CheckRecorder> {
  const checks: Buffer[] = [];
  const server = new Server();
  const bytes = (message: Buffer) => message;
  server.addService(
    {
      Check: {
        path: CHECK,
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      Check: ({ request }: { request: Buffer }, answer: (error: null, message: Buffer) => void) => {
        checks.push(request);
        answer(null, ALLOW);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return { port, checks, [Symbol.asyncDispose]: async () => server.forceShutdown() };
}
