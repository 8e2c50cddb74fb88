/** Answers what one gateway asks all others. */
import { answerQuery as answerDenialQuery } from './denial-queries.ts';
import { reportOfGateway, reportQuerySchema } from './gateway-report.ts';
import type { Gateway } from './running-gateway.ts';

/** The reply of this gateway to a query; null for a message that is no query. Never rejects. */
export async function answerQuery(gateway: Gateway, message: unknown): Promise<unknown> {
  const { data } = reportQuerySchema.safeParse(message);
  return data === undefined ? answerDenialQuery(gateway, message) : reportOfGateway(gateway, data);
}
