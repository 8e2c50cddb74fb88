/** What a single request says about its client, in one byte: bits that add up over the client's requests. */
import type { LogEntry } from '../log-entry.ts';
import { isAssetPath } from './asset-path.ts';

export const CLIENT_ERROR = 1;
export const ASSET = 2;
export const BOT_AGENT = 4;

/** A denial by a rate limit is no sign of a bot. */
const TOO_MANY_REQUESTS = 429;

export function signsOf({ status, target }: LogEntry, agent: UserAgent): number {
  const isError =
    status !== undefined && status >= 400 && status < 500 && status !== TOO_MANY_REQUESTS;
  return (
    (isError ? CLIENT_ERROR : 0) | (isAssetPath(target) ? ASSET : 0) | (agent.isBot ? BOT_AGENT : 0)
  );
}

export interface UserAgent {
  /** 32 bits; 0 for a request without one. */
  readonly hash: number;
  /** It says that it is a program. */
  readonly isBot: boolean;
}
