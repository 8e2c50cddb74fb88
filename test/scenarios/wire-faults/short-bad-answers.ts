/** The cases of the short form: those in which gateway, client and connection work together. Unit tests hold the rest. */
import { BAD_ANSWERS, type BadAnswer } from './bad-answers.ts';

/** `errors.test.ts` has the other refusals, `take-script.test.ts` and `reply-decoder.test.ts` the other replies. */
const NAMES = [
  '-LOADING Redis is loading the dataset in memory',
  '-NOSCRIPT No matching script. Please use EVAL.',
  '-MOVED 1 127.0.0.1:1',
  '-',
  'an integer',
  'a null array, *-1',
  'an array of 20,000',
  'an array with an error',
  'more remaining than the limit',
  'the answer to the call before',
  'random bytes',
  'an HTTP response',
  'nested 100,000 deep',
  'the head of an array of 30,000,000',
  'the head of a string of 64 MiB',
  'an array of a million numbers',
  'an error without end',
  'nothing',
  'half an answer',
  'a push of a subscription',
  'garbage, and the connection stays open',
  'every answer left out, but for those to others',
  'every answer twice',
  'one answer twice, 5 ms late',
  'one answer left out, 5 ms late',
  'an answer that was not asked for before one, 5 ms late',
  'pushes in between',
  'unasked, an array',
  'unasked, noise',
  'unasked, a message of nobody',
  'hello: -LOADING Redis is loading the dataset in memory',
  'hello: -NOPROTO, so RESP2',
  'hello: nothing',
  'hello: HTTP',
  'info: loading, for ten seconds more',
  'subscribe: "_\\r\\n"',
  'eval of the heartbeat: nulls',
  'a message of nobody in RESP2',
];

export const SHORT_BAD_ANSWERS: readonly BadAnswer[] = NAMES.map((name) => {
  const found = BAD_ANSWERS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no case has the name ${name}`);
  return found;
});
