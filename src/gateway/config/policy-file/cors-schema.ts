/** Which web pages may read denials. */
import { z } from 'zod';
import type { CorsRules } from '../../core/answer-style.ts';
import { checkedText } from '../refinement.ts';

const ANY_ORIGIN = '*';
const MAX_ORIGINS = 1_000;
const LONGEST = 512;

/** As browsers write it. Apps in a web view have other schemes than http and https. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9]\d{0,4})?$/;
/** Browsers send it for pages without an origin, such as files and sandboxed frames. */
const NO_ORIGIN = 'null';

/** Returns the origin. Throws a RangeError whose message gives the right form (HTML standard, "serialization of an origin"). */
function checkOrigin(text: string): string {
  if (text === ANY_ORIGIN || text === NO_ORIGIN) return text;
  const url = text.length > LONGEST ? null : URL.parse(text);
  const written = `${url?.protocol}//${url?.host}`;
  if (!ORIGIN.test(written)) {
    throw new RangeError(
      `must be an origin such as https://app.example.com, of at most ${LONGEST} characters and without a pattern, or "${ANY_ORIGIN}" alone`,
    );
  }
  if (written === text) return text;
  throw new RangeError(`is not what browsers send, write "${written}"`);
}

const origin = checkedText(checkOrigin, {
  title: 'origin',
  examples: ['https://app.example.com', 'http://localhost:5173', ANY_ORIGIN],
});

export const corsSchema = z
  .strictObject({
    origins: z
      .array(origin)
      .min(1)
      .max(MAX_ORIGINS)
      .refine((all) => all.length === 1 || !all.includes(ANY_ORIGIN), {
        message: `has "${ANY_ORIGIN}" beside other origins: leave one or the others out`,
      })
      .describe(
        'The origins of these pages, each exactly as browsers send it: scheme, host, and a port if it is not the default. "*" alone: all pages.',
      ),
    credentials: z
      .boolean()
      .default(false)
      .describe('Whether requests with cookies or client certificates may be read, too.'),
  })
  .refine(({ origins, credentials }) => !(credentials && origins.includes(ANY_ORIGIN)), {
    path: ['credentials'],
    message: `must be false with "${ANY_ORIGIN}", because browsers refuse both together: list the origins`,
  })
  .transform(({ origins, credentials }): CorsRules => ({ origins: new Set(origins), credentials }))
  .describe(
    'Which web pages of other origins may read a denial (CORS). It changes no answer of the application.',
  );
