/** Answers every check with the same OK, on grpc-js, without decoding the message. */
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { CHECK } from '../../test/support/grpc-frames.ts';
import { EMPTY_OK_MESSAGE } from '../support/grpc-messages.ts';

const asIs = (bytes: Buffer) => bytes;
const server = new Server();
server.addService(
  {
    Check: {
      path: CHECK,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  },
  { Check: (_call: unknown, answer: sendUnaryData<Buffer>) => answer(null, EMPTY_OK_MESSAGE) },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  console.log(`http://127.0.0.1:${port}`);
});
