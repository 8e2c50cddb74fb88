/** `headgate check --redis`: whether gateways can count in Redis, a line for each finding. */
import { printable } from '../config/config-error.ts';
import { type ExamineOptions, examineRedis } from '../stores/redis/examination/examine.ts';

/** Resolves to whether they can. */
export async function reportOnRedis(redis: Omit<ExamineOptions, 'now'>): Promise<boolean> {
  let canCount = true;
  for await (const { place, level, text } of examineRedis({ ...redis, now: Date.now })) {
    if (level === 'fault') canCount = false;
    // Servers choose some of the words.
    console.log(printable(`redis ${place}: ${level}: ${text}`));
  }
  return canCount;
}
