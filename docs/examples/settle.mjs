// An application in Node that reports what each request turned out to cost. Here a word is a token.
import { createServer } from 'node:http';

const { HEADGATE_URL = 'http://127.0.0.1:8080', HEADGATE_SETTLE_SECRET = '', PORT } = process.env;

/** Never fails the request: if the report is lost, what was reserved stays charged. */
async function settle(token, outcome) {
  if (token === undefined) return; // no limit of this request charges afterwards
  try {
    const answer = await fetch(`${HEADGATE_URL}/settle`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Headgate-Settle-Secret': HEADGATE_SETTLE_SECRET,
      },
      body: JSON.stringify({ token, ...outcome }),
      signal: AbortSignal.timeout(2000),
    });
    const { result, reason, message } = await answer.json();
    if (result !== 'settled') console.error(`not settled: ${reason ?? message}`);
  } catch (error) {
    console.error(`not settled: ${error.message}`);
  }
}

const server = createServer((request, response) => {
  const text = 'the answer has five tokens';
  // Also if the client hangs up. Without units it is charged as unknown, so aborting is never cheaper.
  response.on('close', () => {
    const units = response.writableFinished ? { tokens: text.split(' ').length } : undefined;
    void settle(request.headers['x-headgate-settle'], { status: response.statusCode, units });
  });
  response.end(text);
});
server.listen(Number(PORT ?? 3000), '127.0.0.1');
