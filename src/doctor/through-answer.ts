/** One request of a client, and what of the answer concerns limits. */
export interface Answer {
  readonly status: number;
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly bypass: string | undefined;
  readonly mode: string | undefined;
  readonly retryAfter: string | undefined;
  /** Milliseconds since the epoch, by the clock of the proxy. */
  readonly date: number | undefined;
}

const TIMEOUT_MS = 5_000;

/** Resolves to the Error if there is no answer. The body is not read. */
export async function ask(
  url: URL,
  claims: readonly (readonly [name: string, value: string])[] = [],
  method: 'GET' | 'HEAD' = 'GET',
): Promise<Answer | Error> {
  try {
    const response = await fetch(url, {
      method,
      headers: [
        ['User-Agent', 'headgate-doctor'],
        ...claims.map(([name, value]) => [name, value]),
      ] as [string, string][],
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // The rest of the body may be endless, or break off.
    response.body?.cancel().catch(() => {});
    const header = (name: string) => response.headers.get(name) ?? undefined;
    const date = Date.parse(header('date') ?? '');
    return {
      status: response.status,
      limit: numberIn(header('x-ratelimit-limit')),
      remaining: numberIn(header('x-ratelimit-remaining')),
      bypass: header('x-ratelimit-bypass'),
      mode: header('x-ratelimit-mode'),
      retryAfter: header('retry-after'),
      date: Number.isNaN(date) ? undefined : date,
    };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException };
    return new Error(cause?.code ?? cause?.message ?? message);
  }
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
